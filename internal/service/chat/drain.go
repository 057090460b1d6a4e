package chat

import "sync"

// drain counts goroutines that callers start, so that stop can wait for them. The zero value is ready.
type drain struct {
	mu      sync.Mutex // guards stopped, and that no goroutine is added after it is set
	stopped bool
	group   sync.WaitGroup
}

// start reports whether a goroutine may start. It must call end.
func (d *drain) start() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return false
	}
	d.group.Add(1)
	return true
}

func (d *drain) end() { d.group.Done() }

// stop lets no more goroutines start, and waits for those that have.
func (d *drain) stop() {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.group.Wait()
}
