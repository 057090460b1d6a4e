package main

import (
	"log/slog"
	"testing"

	"github.com/ergochat/irc-go/ircmsg"
	"github.com/rialto-im/rialto/bridges/bridge"
	"github.com/rialto-im/rialto/bridges/bridgetest"
)

// Networks differ in which names are one. Bytes that are not UTF-8 stay apart.
func TestSpellingsOfNames(t *testing.T) {
	for mapping, want := range map[string]string{
		"ascii": "#az[]\\^~{\xd6Ä", "rfc1459-strict": "#az{}|^~{\xd6Ä", "rfc1459": "#az{}|~~{\xd6Ä", "rfc7613": "#az[]\\^~{\uFFFDä",
	} {
		if got := fold(mapping, "#AZ[]\\^~{\xd6Ä"); got != want {
			t.Errorf("by %s the name is %q, want %q", mapping, got, want)
		}
	}
}

// The rule is that of the network: rfc1459, unless it names another one. The next process knows it before it is connected.
func TestNamesAreComparedAsByTheNetwork(t *testing.T) {
	for features, want := range map[string]string{"NICKLEN=30": "#a{|}", "CASEMAPPING=ascii": "#a[\\]"} {
		x, r := connectWith(t, "secret", features)
		if got := x.Normalize("#A[\\]"); got != "#a{|}" {
			t.Errorf("before the first connection the channel is %q", got)
		}
		<-r.changed
		next := bridgetest.Must(newClient(x.config, slog.New(slog.DiscardHandler)))(t)
		for when, x := range map[string]*client{"connected": x, "of the next process": next} {
			if got := x.Normalize(" #A[\\]"); got != want {
				t.Errorf("%s, with %s, the channel is %q, want %q", when, features, got, want)
			}
		}
	}
}

// A person is one under all spellings of a nick, and under no other nick. What the bridge says itself does not come back, however its nick is spelled.
func TestPeopleAreToldApart(t *testing.T) {
	x, r := connectTo(t, "secret")
	<-r.changed
	s := x.current()
	for _, c := range []struct{ nick, want string }{
		{"Bob[]", "bob{}"}, {"bob{}", "bob{}"}, {"j\xf6rg", "latin-1 jörg"}, {"j\xe4rg", "latin-1 järg"}, {"jörg", "jörg"}, {"RIALTO", ""},
	} {
		x.privmsg(s, ircmsg.MakeMessage(nil, c.nick+"!~u@h", "PRIVMSG", "#a[", "hello"))
		var got bridge.Received
		select {
		case got = <-r.received:
		default:
		}
		if got.Address != c.want || c.want != "" && got.Room != "#a{" {
			t.Errorf("%q writes in %q as %q, want %q", c.nick, got.Room, got.Address, c.want)
		}
	}
}
