package app

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
)

// TestDraftsInTerminals: a draft is on all devices of its user until it is sent, and what was typed but not sent is kept.
func TestDraftsInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/draft hello", "/open @bob", "/draft", "/draft send", "/draft see you\\", "tomorrow")
	alice.sees("! no chat is open", "There is no draft.", "! there is no draft here", "Done.")
	eventually.True(t, "a list of chats shows the draft", func() bool { // one that was read before the server had it, and is shown after that, does not
		alice.types("/chats", "/listed?")
		alice.sees("unknown command /listed?")
		alice.mu.Lock()
		defer alice.mu.Unlock()
		return strings.Contains(alice.text, "[draft]")
	})
	alice.types("/quit")
	if code := alice.leaves(); code != 0 {
		t.Errorf("alice leaves with %d", code)
	}

	other := sit(t, "Alice elsewhere", "--url", url(h), "--state", filepath.Join(t.TempDir(), "other.json"), "--handle", "alice")
	other.types("a good password", "/open @bob")
	other.sees("Signed in", "[draft]", "--- Bob ---", "draft: see you\n         tomorrow\n", "/draft send")
	other.types("first this", "/draft", "/draft send", "/draft")
	bob.sees("Alice: first this")
	other.sees("draft: see you", "There is no draft.")
	bob.sees("Alice: see you\n         tomorrow")
	bob.types("/open @alice", "and then?")
	other.sees("Bob: and then?")
	other.types("half a\\")
	if code := other.leaves(); code != 0 {
		t.Errorf("alice leaves with %d", code)
	}

	alice = sit(t, "Alice again", "--url", url(h), "--state", alice.state)
	alice.types("/open @bob", "/draft clear", "/draft")
	alice.sees("Signed in", "[draft]", "--- Bob ---", "Bob: and then?", "draft: half a\n", "Done.", "There is no draft.")
	bob.seesNot("half a")
}
