package terminal

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// knowing is a screen that knows some people and chats, in an empty directory with some files.
func knowing(t *testing.T) *screen {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"cat.jpg", "my cat.jpg", ".hidden", "docs/a.txt"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newScreen()
	s.people[2], s.people[3] = person{"bob", "Bob"}, person{"bobby", "周末"}
	s.chats[7], s.chats[8], s.chats[9] = &chatv1.Conversation{Id: 7, Peer: 2}, &chatv1.Conversation{Id: 8, Title: "周末爬山"}, &chatv1.Conversation{Id: 9, Title: "Book club"}
	s.list = []uint64{7, 8, 9}
	return s
}

func TestCompletions(t *testing.T) {
	s := knowing(t)
	for text, want := range map[string]string{
		"/ope":            "/open",
		"/un":             "/unarchive /unban /unblock /unfavourite /unfollow /unfriend /uninvite /unlike /unlink /unmute /unpin /unreact /unread /unsilence",
		"/open @bo":       "@bob @bobby",
		"/open b":         "Bob Book club",
		"/open book c":    "Book club",
		"/open 周":         "周末爬山",
		"/hide ":          "read",
		"/hide read o":    "off",
		"/policy a":       "approval",
		"/role @bob a":    "admin",
		"/remove @bob @":  "@bob @bobby",
		"/file ":          `cat.jpg docs/ "my cat.jpg"`,
		"/file c":         "cat.jpg",
		`/file "my`:       `"my cat.jpg"`,
		"/file docs/":     "docs/a.txt",
		"/file .h":        ".hidden",
		"/file no/such":   "",
		"/file cat.jpg m": "", // a caption
		"hello @bo":       "",
		"//ope":           "",
		"/nothing x":      "",
		"/name x":         "",
	} {
		if got := s.complete(text).choices; strings.Join(got, " ") != want {
			t.Errorf("%q may become %q, want %q", text, got, want)
		}
	}
}

// Numbers of messages are those that the command can take, the newest ten, in their order.
func TestSeqsAreCompleted(t *testing.T) {
	s, _ := seated(t)
	if err := s.enter(t.Context(), s.chats[7]); err != nil {
		t.Fatal(err)
	}
	for seq := uint64(6); seq <= 12; seq++ {
		m := message(7, seq)
		switch seq {
		case 8:
			m.Sender, m.Reactions = 1, &chatv1.Reactions{Mine: []string{"🎉", "👀"}}
		case 9:
			m.Sender, m.Content, m.RecallSeq = 1, nil, 20
		case 10:
			m.Pinned, m.Content = true, &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Name: "a.txt"}}}
		}
		s.show(t.Context(), rialto.Event{Message: m})
	}
	for text, want := range map[string]string{
		"/reply ": "2 3 4 5 6 7 8 10 11 12", "/reply 1": "1 10 11 12", "/reply #1": "#1 #10 #11 #12", "/reply 12 1": "", "/react ": "2 3 4 5 6 7 8 10 11 12",
		"/react 12 ": "❤️ 🎉 👍 😂 😢 😮", "/react 12 👍": "👍", "/react 12 👍 ": "", "/unreact ": "8", "/unreact 8 ": "🎉 👀", "/unreact x ": "", "/edit ": "8", "/edit x": "",
		"/recall 10": "10", "/readers ": "8", "/delivered ": "8", "/save ": "10", "/pin 8": "8", "/unpin ": "10",
	} {
		if got := strings.Join(s.complete(text).choices, " "); got != want {
			t.Errorf("%q may become %q, want %q", text, got, want)
		}
	}
}

// TestTheTabKey completes as far as there is one choice, and lists the others when it is pressed twice.
func TestTheTabKey(t *testing.T) {
	s := knowing(t)
	for keys, want := range map[string]string{
		"/ope\t周\t\r":                 "/open 周末爬山 ",
		"/open @b\t\r":                "/open @bob",
		"/open BOO\t\r":               "/open Book club ",
		"/fil\t\"my\t\r":              `/file "my cat.jpg" `,
		"/file do\t\t\r":              "/file docs/a.txt ",
		"/hi\x1b[Hx\x1b[F\t\r":        "x/hi",
		"/op x\x1b[D\x1b[D\t\r":       "/open  x",
		"a\tb\r":                      "ab",
		"\x1b[200~/op\te\x1b[201~n\r": "/open",
	} {
		var out strings.Builder
		k := newKeyboard(strings.NewReader(keys), &out, func() int { return 40 }, func(string) {})
		k.complete = s.complete
		if line, err := k.Line(); err != nil || line != want {
			t.Errorf("%q gives %q, %v; want %q", keys, line, err, want)
		}
	}
	var out strings.Builder
	k := newKeyboard(strings.NewReader("/open @b\t\tby\t\r"), &out, func() int { return 12 }, func(string) {})
	k.complete = s.complete
	if line, err := k.Line(); err != nil || line != "/open @bobby " {
		t.Errorf("the line is %q, want \"/open @bobby \"; error %v", line, err)
	}
	if !strings.Contains(out.String(), "\r\x1b[2K  @bob\r\n  @bobby\r\n") {
		t.Errorf("the choices are shown as %q", out.String())
	}
	secret := newKeyboard(strings.NewReader("/op\t\r"), &out, func() int { return 40 }, func(string) {})
	secret.complete = s.complete
	if p, err := secret.Ask("Password: ", true); err != nil || p != "/op" {
		t.Errorf("a password is completed to %q, %v", p, err)
	}
}

// TestColours: other users' names have their own, errors are red; without colours a line has no escape sequence, and neither does a
// line that is cut.
func TestColours(t *testing.T) {
	s := newScreen()
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: 1 << 50}); err != nil {
		t.Fatal(err)
	}
	s.people[2] = person{"bob", "Bob"}
	m := &chatv1.Message{Sender: 2, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hi \x1b[31mred"}}}
	if line := s.paintedLine(t.Context(), m, "") + s.paintLine("! an error"); strings.Contains(line, "\x1b") {
		t.Errorf("without colours: %q", line)
	}
	s.colours = true
	if line := s.paintedLine(t.Context(), m, ""); !strings.Contains(line, "\x1b["+string(senderStyles[0])+"mBob\x1b[0m: hi [31mred") {
		t.Errorf("with colours: %q", line)
	}
	if line := s.line(t.Context(), m); strings.Contains(line, "\x1b") {
		t.Errorf("a line that may be cut: %q", line)
	}
	if line := s.paintLine("! an error"); line != "\x1b[31m! an error\x1b[0m" {
		t.Errorf("an error: %q", line)
	}
	if slices.Contains(senderStyles, red) {
		t.Error("a sender looks like an error")
	}
	for name, tc := range map[string]struct {
		noColour, term string
		want           bool
	}{"a terminal": {"", "xterm", true}, "NO_COLOR": {"1", "xterm", false}, "a dumb terminal": {"", "dumb", false}} {
		t.Setenv("NO_COLOR", tc.noColour)
		t.Setenv("TERM", tc.term)
		if hasColours() != tc.want {
			t.Errorf("%s has colours: %v", name, !tc.want)
		}
	}
}
