package app

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/tool/terminal"
)

// seat is a person at rialto chat, whose output is read as it appears.
type seat struct {
	t     *testing.T
	name  string
	state string
	keys  *io.PipeWriter
	left  chan int

	mu   sync.Mutex // guards the fields below
	cond *sync.Cond
	text string
	read int // of text, by sees
	late bool
}

func (s *seat) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(b)
	s.cond.Broadcast()
	return len(b), nil
}

// sit starts rialto chat.
func sit(t *testing.T, name string, args ...string) *seat {
	in, keys := io.Pipe()
	s := &seat{t: t, name: name, keys: keys, left: make(chan int, 1)}
	s.cond = sync.NewCond(&s.mu)
	go func() {
		code := terminal.Main(args, in, s, s)
		in.Close()
		s.left <- code
	}()
	t.Cleanup(func() {
		keys.Close()
		<-s.left
		if t.Failed() {
			t.Logf("%s's screen:\n%s", name, s.text)
		}
	})
	return s
}

func (s *seat) types(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(s.keys, l+"\n"); err != nil {
			s.t.Fatalf("%s cannot type %q: %v", s.name, l, err)
		}
	}
}

// sees waits for texts, each after the previous one, and returns the line of the last one.
func (s *seat) sees(texts ...string) (line string) {
	s.t.Helper()
	watch := time.AfterFunc(time.Minute, func() { // reached only if the test hangs
		s.mu.Lock()
		defer s.mu.Unlock()
		s.late = true
		s.cond.Broadcast()
	})
	defer watch.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, want := range texts {
		for !strings.Contains(s.text[s.read:], want) {
			if s.late {
				s.t.Fatalf("%s does not see %q", s.name, want)
			}
			s.cond.Wait()
		}
		at := s.read + strings.Index(s.text[s.read:], want)
		s.read = at + len(want)
		start := strings.LastIndex(s.text[:at], "\n") + 1
		line, _, _ = strings.Cut(s.text[start:], "\n")
	}
	return line
}

// seesNot fails if a text has appeared so far.
func (s *seat) seesNot(text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(s.text, text) {
		s.t.Errorf("%s's screen shows %q, want it hidden", s.name, text)
	}
}

// closesChat closes the open chat. Nothing on the screen says so, but the next command begins after it.
func (s *seat) closesChat() {
	s.t.Helper()
	s.types("/close", "/closed?")
	s.sees("unknown command /closed?")
}

// leaves ends the input, as a script does.
func (s *seat) leaves() int {
	s.keys.Close()
	code := <-s.left
	s.left <- code
	return code
}

// newcomers sign up at a node.
func newcomers(t *testing.T, h *Node, names ...string) []*seat {
	seats := make([]*seat, len(names))
	for i, name := range names {
		state := filepath.Join(t.TempDir(), name+".json")
		seats[i] = sit(t, name, "--url", url(h), "--state", state, "--register", "--handle", strings.ToLower(name))
		seats[i].state = state
		seats[i].types(name, "a good password")
		seats[i].sees("Name", "Password", "Signed in", "No chats yet") // what comes after the list is told by a line of its own
	}
	return seats
}

func TestTwoPeopleInTerminals(t *testing.T) {
	h, _ := open(t, "presence.push_interval=10ms", "presence.grace=10ms")
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("hello?")
	alice.sees("! no chat is open; /open one first")
	alice.types("/find bo")
	alice.sees("@bob  Bob")
	alice.types("/add @bob we met yesterday")
	alice.sees("Done.")
	bob.sees("* Alice wants to be your friend: /accept @alice, or /decline. we met yesterday")
	bob.types("/accept alice")
	bob.sees("Done.")
	alice.sees("* Bob and you are friends now")

	alice.types("/open @bob", "hello 👋 你好")
	alice.sees("--- Bob ---", "you: hello 👋 你好")
	bob.sees("[Alice]", "Alice: hello 👋 你好")
	alice.sees("(delivered)")
	bob.types("/chats")
	bob.sees("  1 ", "Alice  (1 new)", "1 unread")
	bob.types("/open 1")
	bob.sees("--- Alice ---", "Alice: hello 👋 你好")
	alice.sees("(read)")
	bob.types(`two\`, "lines", "//help is a command")
	alice.sees("Bob: two\n         lines", "Bob: /help is a command")

	alice.types("/pin", "/mute", "/chats")
	alice.sees("Done.", "Done.", "  1 ^-* Bob  ")
	alice.types("/unmute", "/unpin", "/archive", "/chats")
	alice.sees("Done.", "Done.", "Done.", "and 1 more: /chats all")
	alice.types("/unarchive", "/close", "/remark @bob Bobby", "/who @bob")
	alice.sees("Done.", "Done.", "@bob  Bob", "online", "friend")
	bob.types("are you there?")
	alice.sees("[Bobby]", "Bobby: are you there?")
	alice.types("/open bobb", "/readers")
	alice.sees("--- Bobby ---", "(read)", "read: Bobby")

	if code := bob.leaves(); code != 0 {
		t.Errorf("bob leaves with %d", code)
	}
	alice.sees("* Bobby is offline")
	alice.types("while you were away")
	alice.sees("you: while you were away")
	bob = sit(t, "Bob again", "--url", url(h), "--state", bob.state)
	bob.sees("Signed in", "  1 ", "Alice  (1 new)  ")
	alice.sees("* Bobby is online")
	bob.types("/open 1")
	bob.sees("you: are you there?", "Alice: while you were away")
	alice.sees("(read)")

	alice.types("/keep", "/keep 30")
	alice.sees("! give a time", "Done.")
	bob.sees("Alice set messages to disappear after 30 days")

	alice.types("/block @bob")
	alice.sees("Done.")
	bob.types("and now?")
	bob.sees("! not sent: ")
	alice.types("/unblock @bob")
	alice.sees("Done.")
	bob.types("and then?")
	alice.sees("Bob: and then?")
	alice.seesNot("and now?")
	alice.types("/visible nobody", "/presence dnd", "/status 🌴 at the beach 2h", "/me", "/name Alice L.", "/bio hi", "/me")
	alice.sees("Done.", "Done.", "Done.", "nobody may see when you are online; do not disturb; your status is 🌴 at the beach", "Done.", "Done.", "@alice  Alice L.", "hi")
	alice.types("/sessions", "/histroy", "/hist", "/open", "/history x", "/logout")
	alice.sees("Terminal", "(here)", "unknown command /histroy; /history? /help", "unknown command /hist; /history? /help", "give a handle", "1 to 200")
	if code := alice.leaves(); code != 0 {
		t.Errorf("alice leaves with %d", code)
	}
}

// numberOf returns the number of a message from its line, as "15:04  #12  Bob: hello".
func numberOf(line string) string {
	_, number, _ := strings.Cut(line, "#")
	number, _, _ = strings.Cut(number, " ")
	return number
}

// Messages are replied to, edited, reacted to, pinned and recalled by their numbers, and both people see it.
func TestUpdatesInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/open @bob", "shall we meet?", "tomorow?")
	first := numberOf(alice.sees("you: shall we meet?"))
	second := numberOf(alice.sees("you: tomorow?"))
	bob.sees("Alice: tomorow?")
	bob.types("/open @alice", "/reply "+first+" gladly")
	bob.sees("you (to Alice: shall we meet?): gladly")
	alice.sees("Bob (to you: shall we meet?): gladly")
	alice.types("/edit tomorrow?")
	alice.sees("#" + second + "  you: tomorrow?  (edited)")
	bob.sees("#" + second + "  Alice: tomorrow?  (edited)")
	bob.types("/react "+second+" 👍", "/pin "+first)
	alice.sees("* Bob reacted with 👍 to #"+second+": tomorrow?  (👍 1)", "* Bob pinned #"+first+": shall we meet?")
	bob.types("/unreact "+second+" 👍", "/unpin "+first, "/edit "+first+" not mine")
	alice.sees("* Bob removed 👍 from #"+second+": tomorrow?\n", "* Bob unpinned #"+first)
	bob.sees("! not sent: only its sender edits a message")
	alice.types("/react "+second+" 🎉", "/pin "+second, "/recall "+first)
	bob.sees("* Alice reacted with 🎉", "* Alice pinned", "#"+first+"  * Alice recalled a message")
	bob.types("/reply " + first + " what was that?")
	bob.sees("! not sent: this message was recalled") // the answer may come after that of a later command
	bob.types("/history")
	bob.sees("#"+first+"  * Alice recalled a message", "#"+second+"  Alice: tomorrow?  (edited)  (pinned)  (🎉 1)",
		"you (to a recalled message): gladly")

	dir := t.TempDir()
	path := filepath.Join(dir, "plan.txt")
	if err := os.WriteFile(path, []byte("a plan"), 0o600); err != nil {
		t.Fatal(err)
	}
	alice.types("/file " + path + " our plann")
	bob.sees("our plann")
	alice.sees("our plann")
	alice.types("/edit our plan")
	bob.sees("[file plan.txt, 6 bytes; /save ", "our plan  (edited)")

	bob.closesChat()
	alice.types("/edit our good plan", "next")
	bob.sees("[Alice]", "Alice: next") // and no line about the edit
	bob.seesNot("our good plan")
}

// A friend request that arrived while the user was away, or between the start of the terminal and its connection, is shown.
func TestEarlierFriendRequestsAreShown(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob, state := people[0], people[1], people[1].state
	if code := bob.leaves(); code != 0 {
		t.Errorf("bob leaves with %d", code)
	}
	alice.types("/add @bob we met yesterday")
	alice.sees("Done.")
	for range 2 { // until it is answered
		bob = sit(t, "Bob again", "--url", url(h), "--state", state)
		bob.sees("Signed in", "* Alice wants to be your friend: /accept @alice, or /decline. we met yesterday")
		if code := bob.leaves(); code != 0 {
			t.Errorf("bob leaves with %d", code)
		}
	}
	bob = sit(t, "Bob again", "--url", url(h), "--state", state)
	bob.types("/accept @alice")
	bob.sees("Done.")
	alice.sees("* Bob and you are friends now")
}

func TestAGroupInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob", "Carol", "Dave")
	alice, bob, carol, dave := people[0], people[1], people[2], people[3]
	alice.types("/group The walkers @bob @carol")
	alice.sees("--- The walkers ---", `you created the group "The walkers" with`)
	bob.sees("[The walkers]", `Alice created the group "The walkers" with`)
	bob.types("/chats", "/open walk", "who comes along?")
	bob.sees("--- The walkers ---")
	alice.sees("Bob: who comes along?")
	carol.sees("[The walkers]", "Bob: who comes along?")

	bob.types("/rename Bob's", "/remove @carol")
	bob.sees("! ", "! ")
	alice.types("/role @bob admin", "/rename The runners", "/announce Sundays\\", "at nine", "/announce Sundays, at nine")
	bob.sees("you: now admin (by Alice)", `Alice renamed the group to "The runners"`)
	alice.types("/info", "/members")
	bob.sees("Alice announced: Sundays\n         at nine", "Alice announced: Sundays, at nine")
	alice.sees("The runners, members: 3; you are owner; joining is by invitation", "announcement: Sundays, at nine", "@bob  Bob  (admin)")
	bob.types("/invite @dave", "/silence @carol 2h")
	dave.sees("[The runners]", "Bob added you")
	carol.sees("[The runners]", "Bob silenced you") // from here on she knows the new name
	carol.types("/open The r", "may I?")
	carol.sees("--- The runners ---", "announcement: Sundays", "! not sent: ")
	bob.types("/unsilence @carol", "/silence all")
	carol.sees("Bob let you write again", "Bob silenced all but admins")
	bob.types("/unsilence all", "/remove @dave")
	dave.sees("Bob removed you")
	bob.types("/link")
	code := strings.TrimSpace(strings.TrimPrefix(bob.sees("others join with /join "), "  others join with /join "))
	dave.types("/join " + code)
	dave.sees("! ") // a removed member returns by an invitation
	bob.types("/invite @dave")
	dave.sees("Bob added you")
	dave.types("/open The r", "/leave", "/join "+code)
	carol.sees("Dave left", "Dave joined")
	dave.sees("Done.", "--- The runners ---", "you joined")

	alice.types("/policy approval", "/info", "/remove @dave")
	_, group, _ := strings.Cut(alice.sees("joining is by approval; id "), "; id ")
	dave.sees("Alice removed you")
	dave.types("/join " + group + " let me in")
	dave.sees("You have asked to join")
	dave.closesChat()
	alice.sees("* Dave asks to join The runners: /requests")
	alice.types("/requests", "/admit @dave")
	alice.sees("@dave  Dave  let me in", "Done.")
	dave.sees("[The runners]", "added you")
	bob.types("/bans", "/ban @dave", "/bans", "/unban @dave", "/bans")
	bob.sees("No one is banned.", "Done.", "@dave  Dave", "Done.", "No one is banned.")
	dave.sees("banned you")
	alice.types("/unlink")
	alice.sees("Done.")
	dave.types("/join " + code)
	dave.sees("! this link was revoked")
	alice.types("/transfer @bob")
	bob.sees("the group now belongs to you")
	alice.types("/dissolve yes")
	alice.sees("! your role")
	bob.types("/dissolve", "/dissolve yes")
	bob.sees("confirm with /dissolve yes", "Done.")
	carol.sees("Bob dissolved the group")
}

// TestFilesInTerminals: files are sent and saved, and a name chosen by another user cannot leave the folder.
func TestFilesInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	dir := t.TempDir()
	content := strings.Repeat("a line of text\n", 200_000)
	from, to := filepath.Join(dir, "my notes.txt"), filepath.Join(dir, "copy.txt")
	if err := os.WriteFile(from, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	alice.types("/open @bob", fmt.Sprintf("/file %q read this", from))
	alice.sees("* my notes.txt: 100 %", "[file my notes.txt, 2929 KiB; /save ", "read this")
	bob.types("/open @alice")
	line := bob.sees("/save ")
	_, seq, _ := strings.Cut(line, "/save ")
	seq, _, _ = strings.Cut(seq, "]")
	bob.types("/save "+seq+" "+to, "/save "+seq+" "+to, "/save 999", "/save x")
	bob.sees("* saved as "+to, "! ", "exists", "! that message has no file", "! give the number")
	if got, err := os.ReadFile(to); err != nil || string(got) != content {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	alice.types("/file "+dir, "/file", "/file "+filepath.Join(dir, "none"))
	alice.sees("is empty, or not a file", "give a path", "no such file")
}

// TestTheTerminalKeepsTextsWhileOffline: texts typed offline are kept, also across a restart, and sent once.
func TestTheTerminalKeepsTextsWhileOffline(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	node := func(listen string) *Node {
		h, err := Open(t.Context(), configure(t, data, "listen="+listen), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := node("127.0.0.1:0")
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/open @bob", "first")
	bob.sees("[Alice]", "Alice: first")
	address := h.Address().String()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	alice.sees("* offline; messages are stored")
	alice.types("second", "/reply last and more", "/history")
	alice.sees("(waits)  you: second", "(waits)  you (to your last): and more", "! the server cannot be reached")
	if code := alice.leaves(); code != 0 {
		t.Errorf("alice leaves with %d", code)
	}
	alice.sees("unsent messages will be sent at the next start")
	alice = sit(t, "Alice again", "--url", "http://"+address, "--state", alice.state) // the server is away at its start, too
	alice.sees("Signed in", "! the server cannot be reached")
	h = node(address)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	bob.sees("* online", "Alice: second", "Alice: and more")
	alice.sees("  1 ", "Bob  ")
	alice.types("/open @bob", "third")
	alice.sees("you: first", "you: second", "you (to you: second): and more", "you: third")
	bob.sees("Alice: third")
	bob.mu.Lock()
	defer bob.mu.Unlock()
	if n := strings.Count(bob.text, "Alice: second\n"); n != 1 {
		t.Errorf("the message is on bob's screen %d times, want once", n)
	}
}

// TestTheTerminalEndsWithItsSession: the end of the session ends the terminal with a message, and the next start asks for the password.
func TestTheTerminalEndsWithItsSession(t *testing.T) {
	h, _ := open(t)
	alice := newcomers(t, h, "Alice")[0]
	other := sit(t, "Alice elsewhere", "--url", url(h), "--state", filepath.Join(t.TempDir(), "other.json"), "--handle", "@Alice")
	other.types("a wrong password")
	other.sees("Password: rialto chat: ")
	if code := <-other.left; code != 1 {
		t.Errorf("exit code after a wrong password: got %d", code)
	}
	other.left <- 1
	other = sit(t, "Alice elsewhere", "--url", url(h), "--state", filepath.Join(t.TempDir(), "other.json"), "--handle", "@Alice")
	other.types("a good password")
	other.sees("Signed in")
	other.types("/password", "a good password", "a better password", "a better password", "/sessions")
	other.sees("Done.", "(here)")
	other.types("/logout all")
	alice.sees("your session has ended; start again to log in")
	if code := <-alice.left; code != 1 {
		t.Errorf("exit code after the session ended: got %d", code)
	}
	alice.left <- 1
	again := sit(t, "Alice again", "--url", url(h), "--state", alice.state, "--handle", "alice")
	again.types("a better password")
	again.sees("Password: ", "Signed in")
}

// TestTerminalLoginByCode that the operator's server sends.
func TestTerminalLoginByCode(t *testing.T) {
	sent := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Code string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		sent <- body.Code
	}))
	t.Cleanup(hook.Close)
	h, log := open(t, "account.code_webhook.url="+hook.URL, "account.code_webhook.secret="+strings.Repeat(canarySecret, 4))
	newcomers(t, h, "Alice")
	again := sit(t, "Alice elsewhere", "--url", url(h), "--state", filepath.Join(t.TempDir(), "other.json"), "--handle", "alice", "--code")
	again.sees("Code that was sent to you: ")
	code := <-sent
	again.types(code)
	again.sees("Signed in")
	if text := log.String(); regexp.MustCompile(`\b`+code+`\b`).MatchString(text) || strings.Contains(text, canarySecret) {
		t.Errorf("the log contains the code or the secret: %s", text)
	}
}

// A room and a thread, from two terminals.
func TestRoomsAndThreadsInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/room enter", "/room send x", "/room list")
	alice.sees("use /room", "you are in no room", "You own and moderate no open rooms.")
	alice.types("/room new Launch")
	alice.sees("you are in the room Launch")
	alice.types("/room list")
	room, _, _ := strings.Cut(strings.TrimSpace(alice.sees("  Launch")), " ")
	bob.types("/room enter https://chat.example.com/room/" + room)
	bob.sees("you are in the room Launch")
	bob.types("/room send hello all")
	alice.sees("[room] Bob: hello all")
	bob.types("/room like many", "/room like 3", "/room mute all")
	bob.sees("give a number of likes", "! ")
	alice.sees("* likes of the room: 3")
	alice.types("/room announce at noon", "/room mute all", "/room moderator @bob")
	alice.sees("Done.", "Done.", "Done.")
	bob.sees("* announcement: at noon", "* only moderators may write in the room now")
	bob.types("/room send as a moderator")
	bob.sees("you: as a moderator")
	bob.types("/room info")
	bob.sees("Launch, by Alice; ", "3 likes", "  moderator: @bob  you", "  announcement: at noon", "  only moderators may write in the room")
	alice.types("/room mute all 0", "/room moderator @bob off", "/room rename Lunch")
	bob.sees("* everybody may write in the room again", "* the room is now called Lunch")
	alice.types("/room mute @bob soon", "/room mute @bob 1m")
	alice.sees("give a time", "Done.")
	bob.types("/room send again")
	bob.sees("muted")
	alice.types("/room kick @bob 1m")
	bob.sees("a moderator took you out of the room")
	bob.types("/room enter " + room)
	bob.sees("the room cannot be entered")
	alice.types("/room info", "/room leave", "/room send x", "/room enter "+room)
	alice.sees("@bob may not enter until", "@bob may not write until", "Done.", "you are in no room", "you are in the room Lunch")
	alice.types("/room close", "/room close yes")
	alice.sees("this closes the room for all", "* the room was closed")

	alice.types("/threads", "/threads 1", "/group Plans @bob")
	alice.sees("You follow no threads", "no thread has this number", "Plans")
	alice.types("what now?")
	line := alice.sees("what now?")
	seq := regexp.MustCompile(`#(\d+)`).FindStringSubmatch(line)
	if seq == nil {
		t.Fatalf("the message has no number: %q", line)
	}
	alice.types("/thread "+seq[1], "a reply there")
	alice.sees("thread under #"+seq[1], "--- thread ---", "a reply there")
	alice.types("/threads", "/threads 1")
	alice.sees("   1  ", "what now?", "thread under #"+seq[1], "a reply there")
}
