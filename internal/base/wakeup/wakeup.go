// Package wakeup wakes a goroutine that waits on a channel of capacity 1. Signals that arrive before it wakes up are merged into one.
package wakeup

// Signal leaves a signal in a channel, unless there is one already. It does not block.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
