package terminal

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A message cannot control the terminal, nor look like a message of another user.
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
			t.Errorf("message %q: got %q on the screen", text, got)
		}
	}
	file := &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Name: "a\x1b]0;x.txt", Size: 20 << 10, Caption: "see\x00"}}}
	if got := s.lineOf(t, &chatv1.Message{Sender: 7, Seq: 3, Content: file}); got != "Mal[2J lory: [file a]0;x.txt, 20 KiB; /save 3] see" {
		t.Errorf("a file: got %q on the screen", got)
	}
}

// Each kind of message has a line.
func TestKindsOnTheScreen(t *testing.T) {
	s := newScreen()
	s.people[7] = person{"bob", "Bob"}
	text := func(text string) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}
	}
	media := &chatv1.Media{Name: "a.webm", DurationMs: 65_000, Caption: "sea"}
	for want, c := range map[string]*chatv1.Content{
		"[voice 1m5s; /save 3] sea":          {Kind: &chatv1.Content_Voice{Voice: media}},
		"[voice; /save 3]":                   {Kind: &chatv1.Content_Voice{Voice: &chatv1.Media{}}},
		"[voice 3s ▁▄█; /save 3]":            {Kind: &chatv1.Content_Voice{Voice: &chatv1.Media{DurationMs: 3000, Waveform: []byte{0, 128, 255}}}},
		"[video a.webm (1m5s); /save 3] sea": {Kind: &chatv1.Content_Video{Video: media}},
		"[album of 4: cat.jpg (20 KiB), a.webm (1m5s), b.webm (1m5s, 9 bytes), (cannot be shown); /save 3] both": {Kind: &chatv1.Content_Album{Album: &chatv1.Album{Items: []*chatv1.AlbumItem{
			{Kind: &chatv1.AlbumItem_Image{Image: &chatv1.Media{Name: "cat.jpg", Size: 20 << 10}}}, {Kind: &chatv1.AlbumItem_Video{Video: media}},
			{Kind: &chatv1.AlbumItem_Video{Video: &chatv1.Media{Name: "b.webm", DurationMs: 65_000, Size: 9}}}, {},
		}, Caption: "both"}}},
		"[location geo:45.43800,12.33600] Rialto":                    {Kind: &chatv1.Content_Location{Location: &chatv1.Location{Latitude: 45.438, Longitude: 12.336, Label: "Rialto"}}},
		"[card] Lunch https://example.com":                           {Kind: &chatv1.Content_Card{Card: &chatv1.Card{Title: "Lunch", Url: "https://example.com"}}},
		"Poll: lunch?":                                               {Kind: &chatv1.Content_Custom{Custom: &chatv1.Custom{Type: "app.example/poll", Fallback: "Poll: lunch?"}}},
		"[a message that this client cannot show]":                   {Kind: &chatv1.Content_Custom{Custom: &chatv1.Custom{Type: "app.example/poll"}}},
		"[is being written; /stop]":                                  {Kind: &chatv1.Content_Streamed{Streamed: &chatv1.Streamed{}}},
		"[forwarded] hi":                                             {Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Items: []*chatv1.Forwarded{{Content: text("hi")}}}}},
		"[2 forwarded: chat]\n         hi\n         (not available)": {Kind: &chatv1.Content_Forward{Forward: &chatv1.Forward{Title: "chat", Items: []*chatv1.Forwarded{{Content: text("hi")}, {}}}}},
	} {
		if got := s.lineOf(t, &chatv1.Message{Sender: 7, Seq: 3, Content: c}); got != "Bob: "+want {
			t.Errorf("got %q on the screen, want %q", got, want)
		}
	}
}

// lineOf returns the line of a message without its time.
func (s *screen) lineOf(t *testing.T, m *chatv1.Message) string {
	t.Helper()
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	return s.line(t.Context(), m)[7:]
}

// File names chosen by other users stay in the folder and are visible.
func TestNamesOfFiles(t *testing.T) {
	for name, want := range map[string]string{
		"a b.txt": "a b.txt", "../../etc/passwd": "passwd", `..\..\boot.ini`: "boot.ini", ".bashrc": "bashrc", "..": "file", "": "file", "/": "file",
		"a\nb\x1b.txt": "a b.txt", "图.png": "图.png",
	} {
		if got := fileName(name); got != want || strings.ContainsRune(got, filepath.Separator) {
			t.Errorf("file name %q: got %q, want %q", name, got, want)
		}
	}
}

// An incomplete file is removed, and an existing one is not overwritten.
func TestIncompleteFilesAreRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := write(path, badReader{}); err == nil {
		t.Error("an interrupted download: got no error")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("an interrupted download: the incomplete file exists")
	}
	for _, text := range []string{"first", "second"} {
		if err := write(path, strings.NewReader(text)); (err != nil) != (text == "second") {
			t.Errorf("writing %s: got %v", text, err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("the existing file: got %q, %v", b, err)
	}
}

type badReader struct{}

func (badReader) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// The help contains each command, by itself or with its opposite, in lines that fit the screen.
func TestTheHelpHasEachCommand(t *testing.T) {
	text := help(false)
	seen := map[string]bool{}
	for _, part := range sections() {
		for _, c := range part.commands {
			if seen[c.name] {
				t.Errorf("command /%s is listed twice", c.name)
			}
			seen[c.name] = true
			if !regexp.MustCompile(`(?m)(^  |[ ;,])/` + c.name + `\b`).MatchString(text) {
				t.Errorf("the help has no /%s", c.name)
			}
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 132 {
			t.Errorf("got a long line: %s", line)
		}
	}
}

// The help in Chinese has the same commands, in lines that fit the screen, and the environment chooses it.
func TestTheHelpIsInTwoLanguages(t *testing.T) {
	commands := 0
	for _, part := range sections() {
		if chineseSections[part.title] == "" {
			t.Errorf("section %s has no title in Chinese", part.title)
		}
		for _, c := range part.commands {
			if c.about != "" {
				commands++
			}
			if (c.about != "") != (chineseHelp[c.name] != "") {
				t.Errorf("/%s: %q in English, %q in Chinese", c.name, c.about, chineseHelp[c.name])
			}
			for _, other := range regexp.MustCompile(`/[a-z]{4,}`).FindAllString(c.about, -1) {
				if !strings.Contains(chineseHelp[c.name], other) {
					t.Errorf("/%s in Chinese does not name %s", c.name, other)
				}
			}
		}
	}
	if len(chineseHelp) != commands {
		t.Errorf("%d commands in Chinese, want %d", len(chineseHelp), commands)
	}
	for line := range strings.Lines(help(true)) {
		if cells([]rune(line)) > 132 {
			t.Errorf("got a long line: %s", line)
		}
	}
	for _, test := range []struct {
		all, messages, lang string
		want                bool
	}{{"", "", "zh_CN.UTF-8", true}, {"", "", "en_GB.UTF-8", false}, {"", "", "", false}, {"", "zh_TW", "en_GB", true}, {"C", "zh_CN", "zh_CN", false}} {
		t.Setenv("LC_ALL", test.all)
		t.Setenv("LC_MESSAGES", test.messages)
		t.Setenv("LANG", test.lang)
		var out strings.Builder
		Main([]string{"--help"}, strings.NewReader(""), &out, &out)
		if got := strings.Contains(out.String(), "定时发送"); got != test.want || got == strings.Contains(out.String(), "send a message later") {
			t.Errorf("%+v: got Chinese %v", test, got)
		}
	}
}

// Each server and handle has its own file, because a token must not be sent to another server.
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
			t.Errorf("a second client on one file: got %v", err)
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
			t.Errorf("options %+v: got file %s, want %s", tc.o, got, tc.want)
		}
	}
	for _, o := range []options{{url: "chat.example.com", handle: "a"}, {url: "http://h", handle: "../x"}, {url: "http://h", handle: ".x"}} {
		if _, err := s.openState(&o); err == nil {
			t.Errorf("options %+v: got no error", o)
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
		t.Errorf("help: got exit code %d, output %q, errors %q", code, out, errOut)
	}
	for _, args := range [][]string{{"--nope"}, {"alice"}} {
		if code, out, errOut := run(args...); code != 2 || out != "" || !strings.Contains(errOut, "rialto chat --help") {
			t.Errorf("flags %v: got exit code %d, output %q, errors %q", args, code, out, errOut)
		}
	}
	for _, address := range []string{"chat.example.com", "ftp://chat.example.com", "http://", "https:chat.example.com", "127.0.0.1:7070", ""} {
		if code, out, errOut := run("--url", address, "--handle", "alice"); code != 2 || out != "" || !strings.Contains(errOut, "--url is the address of a server") || !strings.Contains(errOut, "https://chat.example.com") || strings.Contains(errOut, "Config") {
			t.Errorf("--url %q: got exit code %d, output %q, errors %q", address, code, out, errOut)
		}
	}
	state := filepath.Join(t.TempDir(), "state.json")
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if code, _, errOut := run("--url", server.URL, "--handle", "alice", "--state", state); code != 1 || !strings.Contains(errOut, "the input ended") { // no password was entered
		t.Errorf("input that ends: got exit code %d, errors %q", code, errOut)
	}
}
