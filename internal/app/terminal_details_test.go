package app

import (
	"testing"
	"time"
)

func TestDetailsInTerminals(t *testing.T) {
	h, _ := open(t, "account.who_may_add=friends")
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/open @bob", "tomorow?")
	seq := numberOf(alice.sees("you: tomorow?"))
	bob.sees("Alice: tomorow?")
	bob.types("/open @alice", "/pins", "/reactions "+seq)
	bob.sees("Nothing is pinned here.", "Nobody has reacted to #"+seq+".")
	alice.types("/edit tomorrow?")
	bob.sees("Alice: tomorrow?  (edited)")
	bob.types("/react "+seq+" 👍", "/pin "+seq)
	alice.sees("Bob reacted with 👍", "Bob pinned")
	alice.types("/edits "+seq, "/reactions "+seq, "/pins")
	alice.sees("  tomorow?\n", "  tomorrow?\n", "  👍: Bob", "  #"+seq+"  ", "you: tomorrow?")

	today := time.Now().Format(time.DateOnly)
	bob.types("/history 2999-12-31", "/history "+today)
	bob.sees("There are no messages from that day or later.", "#"+seq+"  Alice: tomorrow?  (edited)  (pinned)  (👍 1)")

	alice.types("/later 2h at the lake", "/reschedule 1 3h by the lake", "/scheduled", "/reschedule 2 3h", "/cancel 1")
	alice.sees("It is sent on ", "It is sent on ", "  by the lake\n", "! no scheduled message has this number", "Done.")

	alice.types("/reply last at noon?", "/reply last")
	bob.sees("Alice (to Alice: tomorrow?): at noon?")
	alice.sees("! give the number of a message")

	alice.types("/group Walkers", "/invite @bob", "/invited", "/uninvite @bob", "/invited")
	alice.sees("--- Walkers ---", "Bob was invited", "@bob  Bob, invited by you", "Done.", "Nobody is invited.")
}
