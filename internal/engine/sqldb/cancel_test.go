package sqldb

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// The server is not asked to cancel anything on a connection that it has not accepted yet.
func TestUnfinishedConnectionsAreClosed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	connections := make(chan int)
	go func() {
		n := 0
		defer func() { connections <- n }()
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			n++
			defer c.Close()
			if _, err := io.ReadAtLeast(c, make([]byte, 1024), 1); err != nil {
				return
			}
			cancel()
		}
	}()
	config, err := pgconn.ParseConfig("postgres://user@" + listener.Addr().String() + "/db?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cancelStatements(config)
	if _, err := pgconn.ConnectConfig(ctx, config); err == nil {
		t.Error("a server that does not answer is connected to")
	}
	listener.Close()
	if n := <-connections; n != 1 {
		t.Errorf("the server had %d connections, want 1", n)
	}
}
