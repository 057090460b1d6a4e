package chaos

import (
	"net"
	"os"
	"testing"
)

// TestOwner: of a connection that this process opened, the kernel says that it is ours, and not another's.
func TestOwner(t *testing.T) {
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
	if got := owner(c.LocalAddr(), []int{another, us}); got != us {
		t.Errorf("it is of %d, and we are %d", got, us)
	}
	if got := owner(c.LocalAddr(), []int{another}); got != 0 {
		t.Errorf("it is of %d", got)
	}
	if got := owner(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, []int{us}); got != 0 {
		t.Errorf("a connection that nobody has is of %d", got)
	}
}
