package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is written only for programs that know no replies is left out, in characters and not in bytes; what names other characters than the text has is ignored.
func TestTextOf(t *testing.T) {
	fallback := func(start, end string) element {
		return newElement(nsFallback, "fallback", "for", nsReply).with(newElement(nsFallback, "body", "start", start, "end", end))
	}
	for _, c := range []struct {
		body string
		more []element
		want string
	}{
		{"hello", nil, "hello"}, {"/me waves", nil, "* waves"}, {"/menu", nil, "/menu"},
		{"> é字\nyes", []element{fallback("0", "5")}, "yes"}, {"> a\nyes", []element{fallback("", "")}, ""},
		{"yes", []element{fallback("0", "9")}, "yes"}, {"yes", []element{fallback("2", "1")}, "yes"}, {"yes", []element{fallback("-1", "1")}, "yes"},
		{"yes", []element{newElement(nsFallback, "fallback", "for", "other").with(newElement(nsFallback, "body"))}, "yes"},
	} {
		if got := textOf(newElement(nsComponent, "message").with(newElement(nsComponent, "body").withText(c.body)).with(c.more...)); got != c.want {
			t.Errorf("%q with %v is %q, want %q", c.body, c.more, got, c.want)
		}
	}
}

// Texts and attributes are escaped, and a namespace is declared where it begins.
func TestElements(t *testing.T) {
	e := newElement(nsComponent, "message", "to", "a'<&>\"", "id", "").with(newElement(nsComponent, "body").withText("<b>&\x01</b>"), newElement(nsReply, "reply", "id", "1").with(newElement(nsReply, "x")))
	if got, want := e.String(), "<message to='a&#39;&lt;&amp;&gt;&#34;'><body>&lt;b&gt;&amp;\uFFFD&lt;/b&gt;</body><reply xmlns='urn:xmpp:reply:0' id='1'><x></x></reply></message>"; got != want {
		t.Errorf("the element is\n%s, want\n%s", got, want)
	}
}

// The latest messages are known by both ids, and only to their author.
func TestKnown(t *testing.T) {
	var k known
	for n := range maxKnown + 1 {
		k.add("eve", fmt.Sprint("own ", n), fmt.Sprint(n))
	}
	for name, want := range map[string]string{"own 0": "", "0": "", "own 1": "1", "1": "1", "own 1000": "1000", "none": ""} {
		if got, ok := k.find("eve", name); got != want || ok != (want != "") {
			t.Errorf("%s is %q, %v, want %q", name, got, ok, want)
		}
		if got, ok := k.find("mallory", name); ok {
			t.Errorf("mallory's %s is found as %q, want it unknown", name, got)
		}
	}
	if len(k.ids) != maxKnown || len(k.authors) != maxKnown || len(k.keys) != maxKnown || len(k.order) != maxKnown {
		t.Errorf("%d, %d, %d and %d messages are known, want %d", len(k.ids), len(k.authors), len(k.keys), len(k.order), maxKnown)
	}
}

// In a room without ids of occupants, nobody becomes another author by what is in a message. Only the archive of a room that shows addresses says whose a message is.
func TestForgedAuthors(t *testing.T) {
	x := newClient(config{}, nil, nil)
	item := func(jid string) element { return newElement(nsOccupant, "item", "jid", jid) }
	shown := func(items ...element) element { return newElement(nsOccupant, "x").with(items...) }
	const eve, mallory = "eve@example.com", "mallory@example.com"
	for n, c := range []struct {
		shows, archived bool
		nick            string
		more            []element
		want            string
	}{
		{true, false, "Mallory", []element{shown(item(eve + "/phone"))}, mallory},
		{true, true, "Mallory", []element{shown(item(eve)), shown(item(mallory))}, mallory},
		{true, true, "Mallory", []element{shown(item(eve), item(mallory))}, mallory},
		{false, true, "Nobody", []element{shown(item(eve))}, lobby + "/Nobody"},
		{true, true, "Mallory", []element{shown(item(eve + "/phone"))}, eve}, // who had the nick then
		{true, true, "Nobody", nil, lobby + "/Nobody"},
		{true, true, "Mallory", nil, mallory},
	} {
		r := &room{address: lobby, showsAddresses: c.shows, jids: map[string]string{"Mallory": mallory}}
		if got, nick := x.authorOf(r, newElement(nsComponent, "message", "from", lobby+"/"+c.nick).with(c.more...), c.archived); got != c.want || nick != c.nick {
			t.Errorf("author %d is %s, %s, want %s", n, got, nick, c.want)
		}
	}
}

// The ids of the bridge are not secret: a message of somebody else that has one is read. What came before the room was entered is not.
func TestCopiedIDs(t *testing.T) {
	k, err := openCheckpoints(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := &side{client: newClient(config{secret: testSecret, domain: bridgeDomain}, k, slog.New(slog.DiscardHandler))}
	s.host = s
	bot := s.jid(0)
	r := &room{address: lobby, entered: true, ready: true, jids: map[string]string{}, delivered: map[string]string{}, occupants: map[string]*occupant{bot: {jid: bot}, s.jid(7): {jid: s.jid(7)}}}
	s.rooms[lobby] = r
	s.handlePresence(newElement(nsComponent, "presence", "from", lobby+"/Alice", "to", s.jid(7)).with(newElement(nsOccupant, "x").with(newElement(nsOccupant, "status", "code", "110"))))
	say := func(nick, text string) {
		s.handleMessage(newElement(nsComponent, "message", "type", "groupchat", "from", lobby+"/"+nick, "to", bot, "id", s.idOf(1, 2)).with(newElement(nsComponent, "body").withText(text)))
	}
	say("Alice", "our own")
	say("Mallory", "hidden")
	delete(r.occupants, s.jid(7)) // Alice has left, and her message comes late
	say("Alice", "our own")
	r.entered = false
	say("Alice of before", "our own")
	if got := s.texts(); !slices.Equal(got, []string{"hidden"}) {
		t.Errorf("%q were read, want only the hidden message", got)
	}
}

// A checkpoint is there for the next process, and not for another link. A damaged file is none.
func TestCheckpoints(t *testing.T) {
	dir, since := t.TempDir(), time.UnixMilli(1_000)
	open := func() *checkpoints {
		k, err := openCheckpoints(dir, slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	open().set(lobby, checkpoint{Since: since, ID: "a", Time: since.Add(time.Second)})
	if got, ok := open().of(lobby, since); !ok || got.ID != "a" || !got.Time.Equal(since.Add(time.Second)) {
		t.Errorf("the checkpoint is %v, %v", got, ok)
	}
	if got, ok := open().of(lobby, since.Add(1)); ok || got.ID != "" || !got.Time.Equal(since.Add(1)) {
		t.Errorf("the checkpoint of another link is %v, %v, want none, with the time of that link", got, ok)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files are %v (%v)", files, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok := open().of(lobby, since); ok || got.ID != "" {
		t.Errorf("a damaged checkpoint is %v, %v", got, ok)
	}
}

// A server cannot make the bridge read without end.
func TestStanzasAreBounded(t *testing.T) {
	s := newTestStream("<stream:stream xmlns='" + nsComponent + "' xmlns:stream='" + nsStream + "' id='1'><message><body>" + strings.Repeat("x", 2*maxStanza) + "</body></message>")
	if _, err := s.start(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.read(); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a stanza without end is %v", err)
	}
}

// What somebody nests too deep is left out, and the stanzas behind it are read.
func TestDeepStanzas(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("<a>", depth) + "deep" + strings.Repeat("</a>", depth) }
	s := newTestStream("<stream:stream xmlns='" + nsComponent + "' xmlns:stream='" + nsStream + "' id='1'><message>" + nested(20_000) + "<body>one</body></message><message>" + nested(maxDepth-1) + "<body>t&amp;<b>x</b>wo</body></message>")
	if _, err := s.start(); err != nil {
		t.Fatal(err)
	}
	for n, want := range []struct {
		body  string
		depth int
		text  string
	}{{"one", maxDepth, ""}, {"t&wo", maxDepth, "deep"}} {
		e, err := s.read()
		if err != nil {
			t.Fatal(err)
		}
		body, _ := e.child(nsComponent, "body")
		depth, last := 1, e
		for ; len(last.Children) > 0 && depth <= maxDepth; depth++ {
			last = last.Children[0]
		}
		if body.Text != want.body || depth != want.depth || last.Text != want.text || len(e.Children) != 2 {
			t.Errorf("stanza %d has the body %q and %d levels with %q, want %v", n, body.Text, depth, last.Text, want)
		}
	}
}

// silent is a connection that nobody reads.
type silent struct{ net.Conn }

func (silent) SetReadDeadline(time.Time) error { return nil }

func newTestStream(sent string) *stream {
	s := &stream{conn: silent{}, limited: &io.LimitedReader{R: strings.NewReader(sent)}}
	s.decoder = xml.NewDecoder(s.limited)
	return s
}
