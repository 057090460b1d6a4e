package main

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/ergochat/irc-go/ircmsg"
	"github.com/rialto-im/rialto/bridges/bridge"
)

// maxChannel is how many bytes the name of a channel may have. Networks permit fewer.
const maxChannel = 100

// isChannel reports whether a name is that of one channel.
func isChannel(name string) bool {
	return len(name) > 1 && len(name) <= maxChannel && (name[0] == '#' || name[0] == '&') && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ',' || r == ':' || r == 0x7f })
}

// Normalize returns the name of a channel in the form that all its spellings share.
func (x *client) Normalize(address string) string { return x.names.fold(strings.TrimSpace(address)) }

// Enter enters a channel. IRC keeps nothing of what was written before.
func (x *client) Enter(ctx context.Context, channel string, _ bridge.Link) error {
	if !isChannel(channel) {
		return bridge.NewRefusal("bad_channel", "The name of a channel begins with # or &, and has neither spaces nor commas.")
	}
	if x.isJoined(channel) {
		return nil
	}
	err := x.ask(ctx, channel, []string{"JOIN", channel})
	if err == nil && !x.isJoined(channel) {
		err = bridge.NewRefusal("not_joined", "The server did not let the bridge into the channel.")
	}
	if err == nil {
		x.logger.Info("entered a channel", "channel", channel)
	}
	return err
}

// Leave leaves a channel.
func (x *client) Leave(channel string) {
	if s := x.current(); x.left(s, channel) {
		_ = s.conn.Send("PART", channel, "The group is not linked any more.") // if it fails, the connection has ended
	}
}

func (x *client) isJoined(channel string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.session != nil && x.session.joined[channel]
}

// isSelf reports whether a nick is the bridge's own.
func (x *client) isSelf(s *session, nick string) bool {
	return x.names.fold(nick) == x.names.fold(s.conn.CurrentNick())
}

// joined notes that the bridge has entered a channel.
func (x *client) joined(s *session, m ircmsg.Message) {
	if len(m.Params) > 0 && x.isSelf(s, m.Nick()) {
		x.mu.Lock()
		defer x.mu.Unlock()
		s.joined[x.names.fold(m.Params[0])] = true
	}
}

// parted has a channel entered again that the server has had the bridge leave.
func (x *client) parted(s *session, m ircmsg.Message) {
	if len(m.Params) > 0 && x.isSelf(s, m.Nick()) && x.left(s, m.Params[0]) {
		x.host.Changed()
	}
}

// left notes that the bridge is not in a channel. It reports whether it was. s may be nil.
func (x *client) left(s *session, channel string) bool {
	if s == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	was := s.joined[x.names.fold(channel)]
	delete(s.joined, x.names.fold(channel))
	return was
}

// kicked reports that an operator of a channel has removed the bridge. It does not come back by itself.
func (x *client) kicked(s *session, m ircmsg.Message) {
	if len(m.Params) < 2 || !x.isSelf(s, m.Params[1]) || !x.left(s, m.Params[0]) {
		return
	}
	text := "Removed by " + m.Nick() + "."
	if len(m.Params) > 2 && m.Params[2] != m.Nick() {
		text = "Removed by " + m.Nick() + ": " + decode(m.Params[2])
	}
	x.host.Expelled(x.names.fold(m.Params[0]), bridge.NewRefusal("kicked", text))
}

// privmsg writes down what somebody wrote in a channel.
func (x *client) privmsg(s *session, m ircmsg.Message) {
	if len(m.Params) < 2 || !isChannel(m.Params[0]) || m.Nick() == "" || x.isSelf(s, m.Nick()) {
		return
	}
	text, ok := received(m.Params[1])
	if !ok {
		return
	}
	r := bridge.Received{Room: x.names.fold(m.Params[0]), Address: x.addressOf(m.Nick()), Name: decode(m.Nick()), Text: text}
	if has, account := m.GetTag("account"); has && account != "" {
		r.Address = "account " + x.addressOf(account)
	}
	if err := x.host.Received(r); err != nil {
		x.logger.Error("a message from IRC is lost", "channel", r.Room, "error", err)
	}
}

// addressOf returns the address of a nick or an account. One that is not UTF-8 has a space, which no nick has: it may read like another one that is.
func (x *client) addressOf(name string) string {
	address := x.names.fold(decode(name))
	if !utf8.ValidString(name) {
		address = "latin-1 " + address
	}
	return address
}

// errNotInChannel has the channel entered again before the next attempt.
var errNotInChannel = errors.New("the bridge is not in the channel")
