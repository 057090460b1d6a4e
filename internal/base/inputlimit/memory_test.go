package inputlimit

import "testing"

// Clients without credentials have a quarter of the memory, so that they cannot fill that of users.
func TestMemoryIsDivided(t *testing.T) {
	m := NewMemory(64 << 20)
	if without, with := m.Unauthenticated.Limit(), m.Authenticated.Limit(); without != 16<<20 || with != 48<<20 || m.Limit() != 64<<20 {
		t.Errorf("clients without credentials have %d bytes, users %d, of %d", without, with, m.Limit())
	}
}
