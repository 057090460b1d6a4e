package loopback_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/rialto-im/rialto/internal/base/loopback"
)

// Servers can listen on the port, and no outgoing connection takes it before: Linux gives these ports from 32,768 on.
func TestFreePort(t *testing.T) {
	for range 20 {
		port, err := loopback.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if port < 1024 || port >= 32_768 {
			t.Errorf("got port %d, want 1024 to 32767", port)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
