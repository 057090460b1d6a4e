// Package netpoll yields the processor to goroutines that wait for input from the network.
package netpoll

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Yielder yields the processor to goroutines that are ready, and to those that wait for input from the network.
//
// runtime.Gosched does not serve the second kind. A processor polls the network when it has no goroutine to run, and one that has called
// Gosched is such a goroutine. While goroutines that work for long occupy all processors, input waits for the runtime's monitor, which polls
// every 10 ms. A Yielder waits for an event of its own, which comes at once, but from the network poller: the poll that finds the event also
// finds the input.
type Yielder struct {
	file *os.File // an eventfd
	raw  syscall.RawConn
}

// New returns a yielder, which Close closes. It fails if the process has no file descriptor left.
func New() (*Yielder, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	y := &Yielder{file: os.NewFile(uintptr(fd), "eventfd")}
	if y.raw, err = y.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, y.file.Close())
	}
	return y, nil
}

// Yield may be called from several goroutines; one at a time waits for the event. On a processor that is never idle it returns after some 10 ms. That of a closed
// yielder returns at once.
func (y *Yielder) Yield() {
	one := [8]byte{1}
	signalled := false
	err := y.raw.Read(func(fd uintptr) (done bool) {
		if signalled {
			return true
		}
		signalled = true
		// The poller reports each write, so the counter is never read. It holds 2^64-2.
		_, err := unix.Write(int(fd), one[:])
		return err != nil // then no event comes
	})
	if err != nil { // the event cannot be polled
		runtime.Gosched()
	}
}

// Close releases the file descriptor.
func (y *Yielder) Close() error { return y.file.Close() }
