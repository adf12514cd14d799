// SPDX-License-Identifier: Apache-2.0
/*
The service of rules.c in Go without net/http: a goroutine for each connection, and one for each call,
over connections to the backend that all share.

usage: raw LEDGER LETTER MODE PORT BACKEND-PORT
*/
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

type line struct {
	net.Conn
	reader *bufio.Reader
	local  int
}

const calls = 2

var (
	backend int
	free    = make(chan *line, 64)
)

func portOf(address net.Addr) int {
	return address.(*net.TCPAddr).Port
}

func take() *line {
	select {
	case taken := <-free:
		return taken
	default:
	}
	connection, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(backend))
	if err != nil {
		panic(err)
	}
	return &line{connection, bufio.NewReader(connection), portOf(connection.LocalAddr())}
}

func call(ident string) {
	taken := take()
	begin := now()
	taken.Write([]byte(ident + "\n"))
	taken.reader.ReadString('\n')
	add('c', taken.local, backend, begin, ident)
	free <- taken
}

func serve(connection net.Conn, port int) {
	reader := bufio.NewReader(connection)
	for {
		text, err := reader.ReadString('\n')
		if err != nil {
			connection.Close()
			return
		}
		begin, ident := now(), strings.TrimSpace(text)
		var group sync.WaitGroup
		for nth := 0; nth < calls; nth++ {
			nth := nth
			group.Add(1)
			go func() {
				defer group.Done()
				call(fmt.Sprintf("%s.%d", ident, nth))
			}()
		}
		group.Wait()
		add('s', port, portOf(connection.RemoteAddr()), begin, ident)
		connection.Write([]byte("ok\n"))
	}
}

func main() {
	port, _ := strconv.Atoi(os.Args[4])
	backend, _ = strconv.Atoi(os.Args[5])
	ledgerBegin("raw", os.Args[1])
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[4])
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(connection, port)
	}
}
