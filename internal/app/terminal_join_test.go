package app

import (
	"strings"
	"testing"
)

// TestJoinPreviewsInTerminals: a code, a link, an id and a handle say what they lead to before somebody joins.
func TestJoinPreviewsInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/group Walkers", "/announce Sundays", "/link")
	_, code, _ := strings.Cut(alice.sees("--- Walkers ---", "others join with /join "), "/join ")
	bob.types("/preview", "/preview "+code, "/chats", "/preview wrong", "/join wrong")
	bob.sees("! give a code", "  Walkers, a group, members: 1\n  announcement: Sundays\n  whoever joins is in it at once\n", "No chats yet.", "! no group or channel that you may join has this code", "! no group or channel that you may join has this code")
	bob.types("/join https://chat.example.com/join/"+code, "/preview "+code)
	bob.sees("  Walkers, a group, members: 1\n", "--- Walkers ---", "you joined", "  Walkers, a group, members: 2\n", "  you are in it already\n")
	bob.types("/close", "/join "+code)
	bob.sees("--- Walkers ---")

	alice.types("/policy approval", "/info")
	_, id, _ := strings.Cut(alice.sees("Done.", "joining is by approval; id "), "; id ")
	bob.types("/leave", "/preview "+id, "/join "+id+" please")
	bob.sees("Done.", "  Walkers, a group, members: 1\n", "its admins are asked first", "You have asked to join")
	alice.types("/requests", "/policy invite", "/invite @bob")
	alice.sees("@bob  Bob  please")

	alice.types("/channel new @news News")
	alice.sees("--- News ---")
	bob.types("/preview @news", "/join @news")
	bob.sees("  News (@news), a channel, followers: 1\n  whoever joins is in it at once\n", "--- News ---")
}
