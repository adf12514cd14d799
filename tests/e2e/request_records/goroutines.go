// SPDX-License-Identifier: Apache-2.0
// An HTTP server and its clients in one program. Each goroutine that reads from a connection or writes
// to it notes its number and that of the goroutine that made it, as the runtime prints them. Begins
// with the first line of its input. Prints what was noted, as JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

const (
	clients  = 6
	requests = 25
)

type note struct {
	Inode     uint64 `json:"inode"`
	Direction string `json:"direction"`
	From      int64  `json:"from"`
	Length    int    `json:"length"`
	Light     uint64 `json:"light"`
	Maker     uint64 `json:"maker"`
}

var (
	notes []note
	lock  sync.Mutex
	own   = regexp.MustCompile(`^goroutine (\d+) `)
	made  = regexp.MustCompile(` in goroutine (\d+)\n`)
)

func number(pattern *regexp.Regexp, text []byte) uint64 {
	found := pattern.FindSubmatch(text)
	if found == nil {
		return 0
	}
	value, _ := strconv.ParseUint(string(found[1]), 10, 64)
	return value
}

// What the runtime prints of the goroutine that calls this.
func numbers() (uint64, uint64) {
	text := make([]byte, 1<<16)
	text = text[:runtime.Stack(text, false)]
	return number(own, text), number(made, text)
}

type noted struct {
	net.Conn
	inode          uint64
	sent, received int64
}

func noted_make(conn net.Conn) net.Conn {
	var info syscall.Stat_t
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Control(func(fd uintptr) { err = syscall.Fstat(int(fd), &info) })
	if err != nil {
		panic(err)
	}
	return &noted{Conn: conn, inode: info.Ino}
}

func (c *noted) note(direction string, at *int64, n int) {
	if n <= 0 {
		return
	}
	light, maker := numbers()
	lock.Lock()
	notes = append(notes, note{c.inode, direction, *at, n, light, maker})
	lock.Unlock()
	*at += int64(n)
}

func (c *noted) Read(to []byte) (int, error) {
	n, err := c.Conn.Read(to)
	c.note("received", &c.received, n)
	return n, err
}

func (c *noted) Write(from []byte) (int, error) {
	n, err := c.Conn.Write(from)
	c.note("sent", &c.sent, n)
	return n, err
}

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return noted_make(conn), nil
}

func dial(_ context.Context, network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return noted_make(conn), nil
}

func get(client *http.Client, url string) {
	answer, err := client.Get(url)
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

// A goroutine of the handler's own sends over a connection of its own.
func aside(address string, done chan bool) {
	conn, err := dial(nil, "tcp", address)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(conn, "GET /leaf HTTP/1.0\r\n\r\n")
	io.Copy(io.Discard, conn)
	conn.Close()
	done <- true
}

func main() {
	bufio.NewReader(os.Stdin).ReadString('\n')
	place, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	address := place.Addr().String()
	client := &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: clients}}
	http.HandleFunc("/leaf", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "leaf") })
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		done := make(chan bool)
		go aside(address, done)
		get(client, "http://"+address+"/leaf")
		<-done
		fmt.Fprint(w, "root")
	})
	go http.Serve(listener{place}, nil)
	var group sync.WaitGroup
	for i := 0; i < clients; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < requests; i++ {
				get(client, "http://"+address+"/")
			}
		}()
	}
	group.Wait()
	lock.Lock()
	json.NewEncoder(os.Stdout).Encode(notes)
	lock.Unlock()
	os.Stdout.Close()
	bufio.NewReader(os.Stdin).ReadString('\n')
}
