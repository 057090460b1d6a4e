//go:build !linux

package gateway

// setQuiet is for Linux. Elsewhere the system sends its probes all the time.
func (c *conn) setQuiet(bool) error { return nil }
