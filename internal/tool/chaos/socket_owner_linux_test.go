package chaos

import (
	"net"
	"os"
	"testing"
)

// The owner of a connection that this process opened is this process.
func TestSocketOwner(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	us, another := os.Getpid(), os.Getppid()
	if got := socketOwner(c.LocalAddr(), []int{another, us}); got != us {
		t.Errorf("owner of our own connection: got %d, want %d", got, us)
	}
	if got := socketOwner(c.LocalAddr(), []int{another}); got != 0 {
		t.Errorf("owner among other processes: got %d, want 0", got)
	}
	if got := socketOwner(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, []int{us}); got != 0 {
		t.Errorf("owner of a connection that does not exist: got %d, want 0", got)
	}
}
