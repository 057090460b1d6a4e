package stomp

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// contentType of a body that is a Content in JSON. All other bodies are texts.
const contentType = "application/vnd.rialto.content+json"

const (
	streamDestination  = "/stream"
	conversationPrefix = "/conversation/"
)

var (
	errFirst        = badFrame("send CONNECT first")
	errAgain        = badFrame("this connection has sent CONNECT already")
	errVersion      = badFrame("the version is 1.2: send accept-version:1.2")
	errPasscode     = errs.New(errs.Unauthenticated, "no_auth", "CONNECT needs a passcode: an access token")
	errBeat         = badFrame("heart-beat is two numbers of milliseconds, as 10000,10000")
	errTransaction  = badFrame("transactions are not supported; each SEND is acknowledged by its receipt")
	errDestination  = badFrame("the destinations are /conversation/ID and, to subscribe, /stream")
	errSubscription = badFrame("SUBSCRIBE needs an id that no other subscription has, and a connection has at most 100 subscriptions")
	errNoSuch       = badFrame("there is no subscription of this id")
	errMode         = badFrame("ack is auto, client or client-individual")
	errAfter        = badFrame("after is a position, and only the first subscription has one: the others begin where the connection is")
	errNoAck        = badFrame("the id is not the ack of a message that waits for it")
	errElements     = badFrame("this Content has too many elements, or is nested more than 32 deep; send it in parts")
	errContent      = badFrame("a body of the type " + contentType + " is a Content in JSON")
	errText         = badFrame("a text is UTF-8")
	errAfterLeave   = badFrame("no frame follows DISCONNECT")
)

// subscribeTime bounds the reading of a device's position.
const subscribeTime = 10 * time.Second

// handle handles a frame of the client.
func (s *session) handle(f *frame) error {
	if f.command != "SEND" && f.command != "ACK" && !s.frames.allow() { // the gateway limits messages, and each has one ACK
		return errFlood
	}
	if f.command == "CONNECT" || f.command == "STOMP" {
		return s.connect(f)
	}
	s.mu.Lock()
	connected, leaving := s.connected, s.leaving != nil
	s.mu.Unlock()
	switch {
	case !connected:
		return errFirst
	case leaving:
		return errAfterLeave
	case f.get("transaction") != "":
		return errTransaction
	}
	if err := s.await(); err != nil {
		return err
	}
	if f.command != "SEND" && f.command != "ACK" {
		s.out = append(s.out, smallFrame...)
	}
	switch f.command {
	case "SEND":
		return s.send(f)
	case "SUBSCRIBE":
		return s.subscribe(f)
	case "UNSUBSCRIBE":
		return s.unsubscribe(f)
	case "ACK", "NACK":
		return s.ack(f)
	case "DISCONNECT":
		return s.disconnect(f)
	}
	return errTransaction
}

// The gateway counts everything that a client sends against the limits of its user and address. For input other than messages it gets frames that do nothing: for a frame of STOMP
// an acknowledgement without a position, and for a heartbeat or a ping of WebSocket an empty frame. Beyond the limits it stops reading, and so does the session.
var (
	smallFrame = []byte{0, 0, 0, 2, 4<<3 | 2, 0}
	emptyFrame = []byte{0, 0, 0, 0}
)

// chargeEmpty charges what brought nothing.
func (s *session) chargeEmpty() error {
	s.mu.Lock()
	connected := s.connected
	s.mu.Unlock()
	if connected {
		s.out = append(s.out, emptyFrame...)
	} else if !s.frames.allow() { // the gateway's first frame has the credentials
		return errFlood
	}
	return nil
}

// pinged charges a ping of WebSocket.
func (s *session) pinged() error {
	if err := s.chargeEmpty(); err != nil {
		return err
	}
	return s.flush()
}

// await waits for the greeting, after the frames before this one are sent.
func (s *session) await() error {
	if s.isReady() {
		return nil
	}
	if s.flush() != nil {
		return errLost
	}
	select {
	case <-s.ready:
	case <-s.refused:
	}
	return nil
}

// connect sends the credentials. The gateway's answer becomes CONNECTED or ERROR.
func (s *session) connect(f *frame) error {
	if !slices.Contains(strings.Split(f.get("accept-version"), ","), "1.2") {
		return errVersion
	}
	beats, err := negotiate(f.get("heart-beat"))
	if err != nil {
		return err
	}
	token := f.get("passcode")
	if token == "" {
		return errPasscode
	}
	s.mu.Lock()
	again := s.connected
	if !again {
		s.connected, s.beats = true, beats
	}
	s.mu.Unlock()
	if again {
		return errAgain
	}
	s.out, err = toGateway(s.out, &gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: token}})
	return err
}

// negotiate returns the intervals of heartbeats for a client's header.
func negotiate(header string) (h heartbeats, err error) {
	if header == "" {
		return h, nil
	}
	sends, wants, _ := strings.Cut(header, ",")
	first, err := strconv.ParseUint(strings.TrimSpace(sends), 10, 31)
	if err != nil {
		return h, errBeat
	}
	second, err := strconv.ParseUint(strings.TrimSpace(wants), 10, 31)
	if err != nil {
		return h, errBeat
	}
	if first > 0 {
		h.client = max(time.Duration(first)*time.Millisecond, ourHeartbeat)
	}
	if second > 0 {
		h.server = max(time.Duration(second)*time.Millisecond, ourHeartbeat)
	}
	return h, nil
}

// conversationOf returns the conversation of a destination.
func conversationOf(destination string) (uint64, error) {
	text, ok := strings.CutPrefix(destination, conversationPrefix)
	id, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil || id == 0 {
		return 0, errDestination
	}
	return id, nil
}

// contentSchema counts a content before it is decoded.
var contentSchema = sync.OnceValue(func() *inputlimit.Schema { return inputlimit.For(&chatv1.Content{}) })

// send sends a message. Its receipt, and each error, comes from the gateway.
func (s *session) send(f *frame) error {
	conversation, err := conversationOf(f.get("destination"))
	if err != nil {
		return err
	}
	content := &chatv1.Content{}
	switch {
	case f.get("content-type") == contentType:
		if contentSchema().JSON(f.body) != nil {
			return errElements
		}
		if err := (protojson.UnmarshalOptions{}).Unmarshal(f.body, content); err != nil {
			return errContent
		}
	case !utf8.Valid(f.body):
		return errText
	default:
		content.Kind = &chatv1.Content_Text{Text: string(f.body)}
	}
	own := f.get("client-msg-id")
	if own == "" {
		own = "stomp-" + rand.Text()
	}
	key := sendID{conversation, own}
	s.mu.Lock()
	s.pending[key] = append(s.pending[key], &pendingSend{f.get("receipt")}) // the gateway bounds how many: it stops reading
	s.mu.Unlock()
	s.out, err = toGateway(s.out, &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: conversation, ClientMsgId: own, Content: content}}})
	return err
}

// subscribe begins a subscription. That to a conversation is checked: the receipt says that the user may read it.
func (s *session) subscribe(f *frame) error {
	one := subscription{id: f.get("id"), mode: f.get("ack")}
	if one.mode == "" {
		one.mode = "auto"
	}
	if !slices.Contains([]string{"auto", "client", "client-individual"}, one.mode) {
		return errMode
	}
	if destination := f.get("destination"); destination != streamDestination {
		var err error
		if one.conversation, err = conversationOf(destination); err != nil {
			return err
		}
	}
	after, given := message.Position(0), f.get("after") != ""
	if given {
		n, err := strconv.ParseUint(f.get("after"), 10, 64)
		if err != nil {
			return errAfter
		}
		after = message.Position(n)
	} else {
		if err := s.server.deps.Limits.Allow(ratelimit.Call, uint64(s.caller.User), s.network, 1); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(s.server.ctx, subscribeTime)
		defer cancel()
		var err error
		if after, err = s.server.deps.Inbox.AckedPosition(ctx, s.caller); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if given && len(s.subscriptions) > 0 {
		return errAfter
	}
	if one.id == "" || len(s.subscriptions) >= maxSubscriptions || s.subscription(one.id) != nil {
		return errSubscription
	}
	if len(s.subscriptions) == 0 && (given || after != 0) && after < s.cursor {
		s.startAt(after)
	}
	s.subscriptions = append(s.subscriptions, &one)
	if one.conversation == 0 {
		s.receipt(f.get("receipt"))
		return nil
	}
	s.requests++
	s.calls[s.requests] = subscribing{f.get("receipt")}
	payload, err := proto.Marshal(&chatv1.GetConversationRequest{Conversation: one.conversation})
	if err != nil {
		return err
	}
	s.out, err = toGateway(s.out, &gatewayv1.ClientFrame{Request: s.requests, Call: &gatewayv1.Call{Method: "/rialto.chat.v1.ChatService/GetConversation", Payload: payload}})
	return err
}

func (s *session) unsubscribe(f *frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.subscription(f.get("id"))
	if one == nil {
		return errNoSuch
	}
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(o *subscription) bool { return o == one })
	s.outstanding = slices.DeleteFunc(s.outstanding, func(o delivery) bool { return o.of == one })
	s.resume()
	s.receipt(f.get("receipt"))
	return nil
}

// ack acknowledges a message, and with ack:client those before it of its subscription. NACK leaves it, and so the device's position before it.
func (s *session) ack(f *frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := strconv.ParseUint(f.get("id"), 10, 64)
	at := slices.IndexFunc(s.outstanding, func(o delivery) bool { return o.number == n })
	if err != nil || at < 0 {
		return errNoAck
	}
	if f.command == "ACK" {
		of := s.outstanding[at].of
		s.outstanding = slices.DeleteFunc(s.outstanding, func(o delivery) bool {
			return o.number == n || o.of == of && of.mode == "client" && o.number < n
		})
		s.resume()
	}
	s.receipt(f.get("receipt"))
	return nil
}

// disconnect asks the gateway for a last pong: then all before it is handled.
func (s *session) disconnect(f *frame) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.leaving = &leaving{receipt: f.get("receipt"), request: s.requests}
	last := &gatewayv1.ClientFrame{Request: s.requests, Ping: &gatewayv1.Ping{}}
	s.addAck(last)
	s.out, err = toGateway(s.out, last)
	return err
}
