package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// silence is a WAV file of a second.
func silence(t *testing.T) string {
	t.Helper()
	head := "RIFF\xa4>\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x80>\x00\x00"
	path := filepath.Join(t.TempDir(), "a note.wav")
	if err := os.WriteFile(path, []byte(head+strings.Repeat("\x00", 16000)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesAreSentLaterInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	notes, recording := filepath.Join(t.TempDir(), "notes.txt"), silence(t)
	if err := os.WriteFile(notes, []byte("see you"), 0o600); err != nil {
		t.Fatal(err)
	}
	bob.types("/open @alice")
	alice.types("/open @bob", "/voice "+notes, `/voice "`+recording+`" listen`)
	alice.sees("! notes.txt is not a recording")
	bob.sees("Alice: [voice 1s", "] listen")
	alice.types("/later 2h /file "+notes+" for you", "/later 3h /voice \""+recording+"\"", "/later 4h /recall 1", "/later 4h //file", "/scheduled")
	alice.sees("It is sent on ", "It is sent on ", "! what can be sent later is a text, or /file", "It is sent on ", "[file notes.txt, 7 bytes] for you\n", "[voice 1s", "]\n", "  /file\n")
	alice.types("/reschedule 1 1s")
	alice.sees("It is sent on ")
	bob.sees("Alice: [file notes.txt, 7 bytes; /save ", "for you")
}

// TestNumbersStayThoseOfTheListInTerminals: what another device cancels changes no number that was shown.
func TestNumbersStayThoseOfTheListInTerminals(t *testing.T) {
	h, _ := open(t)
	alice := newcomers(t, h, "Alice", "Bob")[0]
	alice.types("/open @bob", "/later 2h one", "/later 3h two", "/later 4h three", "/scheduled")
	alice.sees("It is sent on ", "It is sent on ", "It is sent on ", "  one\n", "  two\n", "  three\n")
	other := sit(t, "Alice elsewhere", "--url", url(h), "--state", filepath.Join(t.TempDir(), "other.json"), "--handle", "alice")
	other.types("a good password")
	other.sees("Signed in")
	other.types("/open @bob", "/cancel 1")
	other.sees("Done.")
	alice.types("/cancel 1", "/cancel 2", "/scheduled")
	alice.sees("! that message has been sent or cancelled meanwhile", "Done.", "  1  ", "  three\n")
	alice.types("/logout")
	alice.sees("Signed out.")
	<-alice.left
	alice.left <- 0
}

func TestFoldersAndDevicesInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice := people[0]
	alice.types("/open @bob", "/folders add Home", "/folders add Work", "/folders add Old", "/folders up Old", "/folders down Home", "/folders up Old", "/folders up Nothing", "/folders sideways Old")
	alice.sees("Done.", "Done.", "Done.", "  Home  1 chat", "  Old  1 chat", "  Work  1 chat", // after the first step
		"  Old  1 chat", "  Home  1 chat", "  Work  1 chat", "  Old  1 chat", "  Home  1 chat", "  Work  1 chat", // the first stays where it is
		"! you have no such folder", "! write /folders")

	other := sit(t, "Alice elsewhere", "--url", url(h), "--state", filepath.Join(t.TempDir(), "other.json"), "--handle", "alice")
	other.types("a good password")
	other.sees("Signed in")
	alice.types("/sessions", "/listed?")
	alice.sees("unknown command /listed?")
	alice.mu.Lock()
	numbers := regexp.MustCompile(`(?m)^ +(\d)  Terminal, last used .*[^)]$`).FindAllStringSubmatch(alice.text, -1)
	alice.mu.Unlock()
	if len(numbers) != 1 {
		t.Fatalf("other devices: %q", numbers)
	}
	alice.types("/revoke 3", "/revoke "+numbers[0][1])
	alice.sees("! no session has this number", "Done.")
	other.sees("your session has ended; start again to log in")
	if code := <-other.left; code != 1 {
		t.Errorf("exit code after the session was revoked: got %d", code)
	}
	other.left <- 1
}
