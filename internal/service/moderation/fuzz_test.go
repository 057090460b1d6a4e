package moderation

import "testing"

// A network is refused, or is its own one spelling.
func FuzzNetworks(f *testing.F) {
	for _, text := range []string{"203.0.113.7", "2001:db8::/48", "::ffff:1.2.3.4", "fe80::1%eth0", "10.1.2.3/8", "1.2.3.4/33", "::/0", "127.0.0.1", "::1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseNetwork(text)
		if err != nil {
			return
		}
		key := target{network: p}.String()
		if again, err := targetOf(parseTarget(key)); err != nil || again.network != p {
			t.Errorf("%q was read as %v, and its key %q as %v, %v", text, p, key, again.network, err)
		}
	})
}
