// SPDX-License-Identifier: Apache-2.0
/*
A service in Go with net/http: each request asks two services at once, each from a goroutine of its
own, and redis over a connection that requests share one after the other.

usage: front LEDGER PORT workers=PORT loop=PORT redis=PORT
*/
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
)

var (
	ports = map[string]string{}
	free  = make(chan *shared, 256)
)

func portOf(address string) int {
	port, _ := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	return port
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

func get(peer, ident string) {
	var begin int64
	var local int
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		local = portOf(info.Conn.LocalAddr().String())
		begin = now()
	}}
	request, _ := http.NewRequest("GET", "http://127.0.0.1:"+ports[peer]+"/"+ident, nil)
	answer, err := client.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	add('c', local, portOf(ports[peer]), begin, ident)
}

// A connection to redis.
type shared struct {
	net.Conn
	reader *bufio.Reader
	local  int
}

func take() *shared {
	select {
	case connection := <-free:
		return connection
	default:
	}
	connection, err := net.Dial("tcp", "127.0.0.1:"+ports["redis"])
	if err != nil {
		panic(err)
	}
	return &shared{connection, bufio.NewReader(connection), portOf(connection.LocalAddr().String())}
}

func askRedis(ident string) {
	connection := take()
	begin := now()
	fmt.Fprintf(connection, "GET %s\r\n", ident)
	connection.reader.ReadString('\n')
	add('c', connection.local, portOf(ports["redis"]), begin, ident)
	free <- connection
}

func kindOf(ident string) int {
	number, _ := strconv.Atoi(strings.Split(ident[1:], ".")[0])
	return number / 3 % 4
}

func serve(answer http.ResponseWriter, request *http.Request) {
	begin := now()
	ident := path.Base(request.URL.Path) + ".n"
	var group sync.WaitGroup
	ask := func(peer string, nth int) {
		group.Add(1)
		go func() {
			defer group.Done()
			get(peer, fmt.Sprintf("%s.%d", ident, nth))
		}()
	}
	ask("workers", 0)
	if kindOf(ident) != 2 {
		ask("loop", 1)
	}
	group.Wait()
	askRedis(ident + ".2")
	answer.Header().Set("Content-Length", "2")
	io.WriteString(answer, "ok")
	add('s', portOf(request.Context().Value(http.LocalAddrContextKey).(net.Addr).String()),
		portOf(request.RemoteAddr), begin, ident)
}

func main() {
	for _, word := range os.Args[3:] {
		name, port, _ := strings.Cut(word, "=")
		ports[name] = port
	}
	ledgerBegin("go", os.Args[1])
	http.HandleFunc("/", serve)
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[2], nil))
}
