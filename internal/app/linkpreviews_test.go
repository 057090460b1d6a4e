package app

import (
	"slices"
	"testing"
)

// The addresses of a deployment are those of the settings; without them, it has no name that it knows.
func TestHostsOfAddresses(t *testing.T) {
	if got, want := hostsOf("https://chat.example.com:8443", "https://files.example.com"), []string{"chat.example.com", "files.example.com"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := hostsOf("", ""); len(got) > 0 {
		t.Errorf("without settings: got %q", got)
	}
}
