package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/bridges/bridgetest"
)

const (
	bridgeDomain, peopleDomain, roomDomain, plainDomain = "rialto.localhost", "people.localhost", "rooms.localhost", "plain.localhost"
	testSecret                                          = "secret of a test"
	lobby, plain                                        = "lobby@" + roomDomain, "lobby@" + plainDomain
)

// prosody is a server of XMPP with components for the bridge and for people, a service of rooms with an archive, and one of rooms without.
type prosody struct {
	t       *testing.T
	address string
	config  string
	process *exec.Cmd
}

func startProsody(t *testing.T) *prosody {
	t.Helper()
	if _, err := exec.LookPath("prosody"); err != nil {
		t.Fatal("prosody is missing: apt-get install prosody")
	}
	dir := t.TempDir()
	p := &prosody{t: t, address: bridgetest.FreeAddress(t), config: filepath.Join(dir, "prosody.cfg.lua")}
	_, port, _ := net.SplitHostPort(p.address)
	config := fmt.Sprintf(`
run_as_root = true
pidfile = %[1]q
data_path = %[2]q
plugin_paths = {}
log = { warn = "*console" }
storage = "internal"
admins = { "eve@people.localhost" }
modules_enabled = { "disco", "ping" }
modules_disabled = { "s2s", "c2s", "offline", "posix" }
c2s_ports = {}
s2s_ports = {}
legacy_ssl_ports = {}
component_interfaces = { "127.0.0.1" }
component_ports = { %[3]s }
VirtualHost "localhost"
Component "rialto.localhost"
	component_secret = %[4]q
Component "people.localhost"
	component_secret = %[4]q
Component "away.localhost"
	component_secret = %[4]q
Component "rooms.localhost" "muc"
	modules_enabled = { "muc_mam" }
	muc_room_locking = false
	muc_room_default_persistent = true
Component "plain.localhost" "muc"
	muc_room_locking = false
	muc_room_default_persistent = true
`, filepath.Join(dir, "pid"), filepath.Join(dir, "data"), port, testSecret)
	for _, name := range []string{"data", "certs"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p.start()
	t.Cleanup(func() { bridgetest.Kill(p.process) })
	return p
}

func (p *prosody) start() {
	p.t.Helper()
	p.process = exec.Command("prosody", "-F", "--config", p.config)
	p.process.Stdout, p.process.Stderr = p.t.Output(), p.t.Output()
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	bridgetest.Eventually(p.t, "prosody listens", func() bool { return bridgetest.Listens(p.address) })
}

// restart ends prosody by a signal, after which it has stored its rooms, and starts it again.
func (p *prosody) restart() {
	p.t.Helper()
	if err := p.process.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	_ = p.process.Wait() // it says how it was ended
	p.start()
}

// person is somebody in XMPP, with what the person has seen in a room.
type person struct {
	t      *testing.T
	stream *stream
	jid    string

	mu       sync.Mutex // guards the fields below
	received []element
}

// connectPeople opens the stream of the people's component, and gives each stanza to the person whom it is for.
func connectPeople(t *testing.T, address string, names ...string) map[string]*person {
	t.Helper()
	s, err := openStream(t.Context(), config{server: address, domain: peopleDomain, secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	people, byJID := map[string]*person{}, map[string]*person{}
	for _, name := range names {
		p := &person{t: t, stream: s, jid: name + "@" + peopleDomain + "/home"}
		people[name], byJID[p.jid] = p, p
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			e, err := s.read()
			if err != nil {
				return
			}
			if p := byJID[e.attr("to")]; p != nil {
				p.mu.Lock()
				p.received = append(p.received, e)
				p.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { _ = s.close(); reader.Wait() })
	return people
}

func (p *person) send(e element) {
	p.t.Helper()
	if err := p.stream.send(e); err != nil {
		p.t.Fatal(err)
	}
}

// Enter enters a room, and makes it if it is not there.
func (p *person) enter(room, nick string) {
	p.t.Helper()
	p.send(newElement(nsComponent, "presence", "from", p.jid, "to", room+"/"+nick).with(newElement(nsRoom, "x").with(newElement(nsRoom, "history", "maxstanzas", "0"))))
	bridgetest.Eventually(p.t, nick+" is in the room", func() bool {
		return p.saw(func(e element) bool {
			detail, _ := e.child(nsOccupant, "x")
			return e.XMLName.Local == "presence" && e.attr("from") == room+"/"+nick && hasStatus(detail, "110")
		}) != nil
	})
}

// say writes in a room. It returns the id that the room gave the message.
func (p *person) say(address, id, text string, more ...element) string {
	p.t.Helper()
	p.send(newElement(nsComponent, "message", "type", "groupchat", "id", id, "from", p.jid, "to", address).with(newElement(nsComponent, "body").withText(text)).with(more...))
	var echo *element
	bridgetest.Eventually(p.t, "the room has "+text, func() bool {
		echo = p.saw(func(e element) bool {
			return e.XMLName.Local == "message" && e.attr("id") == id && e.attr("type") == "groupchat"
		})
		return echo != nil
	})
	return roomID(&room{address: address}, *echo)
}

// saw returns the first stanza that is so; nil: there is none yet.
func (p *person) saw(is func(element) bool) *element {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range p.received {
		if is(p.received[n]) {
			return &p.received[n]
		}
	}
	return nil
}

// seen are the messages that the person has seen in a room from others, each with its author's nick.
func (p *person) seen(room string) (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.received {
		bare, nick := splitJID(e.attr("from"))
		if body, ok := e.child(nsComponent, "body"); ok && bare == room && e.XMLName.Local == "message" && e.attr("type") == "groupchat" {
			list = append(list, nick+": "+body.Text)
		}
	}
	return list
}

// ask sends an iq and waits for a result.
func (p *person) ask(to string, query element) element {
	p.t.Helper()
	id := fmt.Sprint("q", time.Now().UnixNano())
	p.send(newElement(nsComponent, "iq", "type", "set", "id", id, "from", p.jid, "to", to).with(query))
	var found *element
	bridgetest.Eventually(p.t, "an answer to an iq", func() bool {
		found = p.saw(func(e element) bool { return e.XMLName.Local == "iq" && e.attr("id") == id })
		return found != nil
	})
	if found.attr("type") != "result" {
		p.t.Fatalf("the answer is %v", *found)
	}
	return *found
}

const (
	nsAdmin = "http://jabber.org/protocol/muc#admin"
	nsOwner = "http://jabber.org/protocol/muc#owner"
)

// configure changes settings of a room.
func (p *person) configure(room string, settings ...string) {
	p.t.Helper()
	form := newElement(nsForm, "x", "type", "submit").with(field("FORM_TYPE", "http://jabber.org/protocol/muc#roomconfig"))
	for n := 0; n+1 < len(settings); n += 2 {
		form = form.with(field(settings[n], settings[n+1]))
	}
	p.ask(room, newElement(nsOwner, "query").with(form))
}
