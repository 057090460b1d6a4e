package terminal

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// TestAMessageDoesNotSteerTheTerminal, nor look like one of somebody else.
func TestAMessageDoesNotSteerTheTerminal(t *testing.T) {
	s := newScreen()
	s.people[7] = person{"mallory", oneLine(plain("Mal\x1b[2J\nlory\u202e"))}
	for text, want := range map[string]string{
		"\x1b[2J\x07\u009b31mred\x7f":    "Mal[2J lory: [2J31mred",
		"hi\n08:00  Bob: I owe you":      "Mal[2J lory: hi\n         08:00  Bob: I owe you",
		"hi\r08:00\u2028Bob: \u202eevil": "Mal[2J lory: hi08:00\n         Bob: evil",
		"שלום 👋 e\u0301":                 "Mal[2J lory: שלום 👋 e\u0301",
	} {
		m := &chatv1.Message{Sender: 7, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}
		if got := s.lineOf(t, m); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	file := &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Name: "a\x1b]0;x.txt", Size: 20 << 10, Caption: "see\x00"}}}
	if got := s.lineOf(t, &chatv1.Message{Sender: 7, Seq: 3, Content: file}); got != "Mal[2J lory: [file a]0;x.txt, 20 KiB; /save 3] see" {
		t.Errorf("a file is shown as %q", got)
	}
}

// lineOf a message without its time.
func (s *screen) lineOf(t *testing.T, m *chatv1.Message) string {
	t.Helper()
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	return s.line(t.Context(), m)[7:]
}

// TestNamesOfFiles that strangers chose stay in the folder, and show.
func TestNamesOfFiles(t *testing.T) {
	for name, want := range map[string]string{
		"a b.txt": "a b.txt", "../../etc/passwd": "passwd", `..\..\boot.ini`: "boot.ini", ".bashrc": "bashrc", "..": "file", "": "file", "/": "file",
		"a\nb\x1b.txt": "a b.txt", "图.png": "图.png",
	} {
		if got := fileName(name); got != want || strings.ContainsRune(got, filepath.Separator) {
			t.Errorf("%q is saved as %q, not %q", name, got, want)
		}
	}
}

// TestHalfAFileIsNotLeft, and one that is there is not touched.
func TestHalfAFileIsNotLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := write(path, badReader{}); err == nil {
		t.Error("a broken download is no fault")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("half a file is left")
	}
	for _, text := range []string{"first", "second"} {
		if err := write(path, strings.NewReader(text)); (err != nil) != (text == "second") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
}

type badReader struct{}

func (badReader) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestTheHelpHasEachCommand, by itself or beside its opposite, in lines that fit.
func TestTheHelpHasEachCommand(t *testing.T) {
	text := help()
	seen := map[string]bool{}
	for _, part := range sections() {
		for _, c := range part.commands {
			if seen[c.name] {
				t.Errorf("/%s is there twice", c.name)
			}
			seen[c.name] = true
			if !regexp.MustCompile(`(?m)(^  |[ ;,])/` + c.name + `\b`).MatchString(text) {
				t.Errorf("the help has no /%s", c.name)
			}
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 132 {
			t.Errorf("a long line: %s", line)
		}
	}
}

// TestOneFileForEachServerAndHandle: a token reaches no other server than its own.
func TestOneFileForEachServerAndHandle(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config)
	s := newScreen()
	choose := func(o options, answers string) string {
		s.console = &pipe{in: bufio.NewReader(strings.NewReader(answers)), out: &strings.Builder{}}
		lock, err := s.openState(&o)
		if err != nil {
			return err.Error()
		}
		if err := os.WriteFile(o.state, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := newScreen().openState(&options{url: o.url, state: o.state}); err == nil || !strings.Contains(err.Error(), "another rialto chat") {
			t.Errorf("a second one beside it: %v", err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		return filepath.ToSlash(o.state[strings.Index(o.state, "chat"):])
	}
	for _, tc := range []struct {
		o             options
		answers, want string
	}{
		{options{url: "http://127.0.0.1:7070"}, "@Alice\n", "chat/127.0.0.1_7070/alice.json"},
		{options{url: "http://127.0.0.1:7070"}, "", "chat/127.0.0.1_7070/alice.json"}, // the only one
		{options{url: "http://127.0.0.1:7070", handle: "bob"}, "", "chat/127.0.0.1_7070/bob.json"},
		{options{url: "http://127.0.0.1:7070"}, "alice\n", "chat/127.0.0.1_7070/alice.json"}, // one of two
		{options{url: "https://chat.example.com"}, "alice\n", "chat/chat.example.com/alice.json"},
		{options{url: "https://chat.example.com", register: true}, "carol\n", "chat/chat.example.com/carol.json"},
	} {
		if got := choose(tc.o, tc.answers); got != tc.want {
			t.Errorf("%+v: %s, not %s", tc.o, got, tc.want)
		}
	}
	for _, o := range []options{{url: "chat.example.com", handle: "a"}, {url: "http://h", handle: "../x"}, {url: "http://h", handle: ".x"}} {
		if _, err := s.openState(&o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestFlags(t *testing.T) {
	run := func(args ...string) (int, string, string) {
		var out, errOut strings.Builder
		code := Main(args, strings.NewReader(""), &out, &errOut)
		return code, out.String(), errOut.String()
	}
	if code, out, errOut := run("--help"); code != 0 || !strings.Contains(out, "-register") || !strings.Contains(out, "/open") || errOut != "" {
		t.Errorf("help: %d, %q, %q", code, out, errOut)
	}
	for _, args := range [][]string{{"--nope"}, {"alice"}} {
		if code, out, errOut := run(args...); code != 2 || out != "" || !strings.Contains(errOut, "rialto chat --help") {
			t.Errorf("%v: %d, %q, %q", args, code, out, errOut)
		}
	}
	state := filepath.Join(t.TempDir(), "state.json")
	if code, _, errOut := run("--url", "http://127.0.0.1:1", "--handle", "alice", "--state", state); code != 0 || errOut != "" { // no password came
		t.Errorf("an input that ends: %d, %q", code, errOut)
	}
}
