package rpc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/rialto-im/rialto/internal/service/account"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	"google.golang.org/protobuf/proto"
)

const (
	linkCalls   = "/rialto.bridge.v1.BridgeLinkService/"
	bridgeCalls = "/rialto.bridge.v1.BridgeService/"
	bridgeAdmin = "/rialto.bridge.v1.BridgeAdminService/"
)

func ofBridges() map[string]row {
	request := func(m proto.Message) func(subject) proto.Message { return func(subject) proto.Message { return m } }
	return map[string]row{
		linkCalls + "ListBridges": own(request(&bridgev1.ListBridgesRequest{})),
		linkCalls + "LinkBridge": in("not_allowed", none, func(o subject) proto.Message {
			return &bridgev1.LinkBridgeRequest{Conversation: o.conversation, Bridge: "none", Address: "#a"}
		}).ownerRefused("no_bridge"),
		linkCalls + "UnlinkBridge": in("not_allowed", none, func(o subject) proto.Message {
			return &bridgev1.UnlinkBridgeRequest{Conversation: o.conversation, Bridge: "none"}
		}).ownerRefused("no_bridge"),
		linkCalls + "ListBridgeLinks": in("", none, func(o subject) proto.Message { return &bridgev1.ListBridgeLinksRequest{Conversation: o.conversation} }),

		bridgeAdmin + "FindBridgeLinks":         all("no_bridge", request(&bridgev1.FindBridgeLinksRequest{Bridge: "none"})),
		bridgeAdmin + "RemoveBridgeLink":        all("no_bridge", request(&bridgev1.RemoveBridgeLinkRequest{Bridge: "none", Conversation: 1})),
		bridgeCalls + "PutBridge":               own(request(&bridgev1.PutBridgeRequest{DisplayName: "Matrix"})),
		bridgeCalls + "ListLinkedConversations": own(request(&bridgev1.ListLinkedConversationsRequest{})),
		bridgeCalls + "ReportBridgeLink":        all("not_linked", request(&bridgev1.ReportBridgeLinkRequest{Conversation: 1, State: bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_ACTIVE})),
		bridgeCalls + "SendBridgedMessage": all("not_linked", func(o subject) proto.Message {
			return &bridgev1.SendBridgedMessageRequest{Conversation: o.conversation, ExternalId: "1", Sender: &bridgev1.BridgedSender{Address: "a"}, Entry: &bridgev1.SendBridgedMessageRequest_Text{Text: "hi"}}
		}),
		bridgeCalls + "ReportDelivery": all("not_linked", func(o subject) proto.Message {
			return &bridgev1.ReportDeliveryRequest{Conversation: o.conversation, Seq: o.seq, ExternalId: "1"}
		}),
		bridgeCalls + "PutBridgePermission": all("bad_permission", request(&bridgev1.PutBridgePermissionRequest{Conversation: 1})),
		bridgeCalls + "GetBridgePermission": all("not_linked", func(o subject) proto.Message {
			return &bridgev1.GetBridgePermissionRequest{Conversation: o.conversation}
		}),
	}
}

// bridgeKey is the key of a bridge with a bot of its own.
func (h *harness) bridgeKey(name string) string {
	h.t.Helper()
	key, err := h.accounts.CreateKey(h.t.Context(), account.NewKey{Name: name, Bot: h.person("bot" + name).user(), Bridge: name}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return key
}

// A bridge acts in the groups that are linked with it, and in no other: not in those of another bridge, not before the other system has accepted the link, and not once an admin has removed its bot.
// What it may do as a bot is that of its user; calls of servers and of users in the name of others are refused.
func TestABridgeActsInItsLinks(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	o, other := h.subject(p, "other"), h.subject(p, "another")
	irc, xmpp := h.bridgeKey("irc"), h.bridgeKey("xmpp")
	call := func(name, body, key, want string) answer {
		t.Helper()
		got := h.post(name, asJSON, []byte(body), bearer(key))
		if got.reason() != want || (got.status == http.StatusOK) != (want == "") {
			t.Fatalf("%s %s is answered with %d %s, want %q", name, body, got.status, got.body, want)
		}
		return got
	}
	message := func(c uint64, n int) string {
		return fmt.Sprintf(`{"conversation": "%d", "externalId": "%d", "sender": {"address": "eve!~e@x"}, "text": "hi"}`, c, n)
	}
	for _, key := range []string{irc, xmpp} {
		call(bridgeCalls+"PutBridge", `{"displayName": "Another system"}`, key, "")
	}
	call(linkCalls+"LinkBridge", fmt.Sprintf(`{"conversation": "%d", "bridge": "irc", "address": "#rialto"}`, o.conversation), p.alice.AccessToken, "")
	call(bridgeCalls+"SendBridgedMessage", message(o.conversation, 1), irc, "not_linked") // it is pending
	report := fmt.Sprintf(`{"conversation": "%d", "state": "BRIDGE_LINK_STATE_ACTIVE"}`, o.conversation)
	call(bridgeCalls+"ReportBridgeLink", report, xmpp, "not_linked")
	call(bridgeCalls+"ReportBridgeLink", report, irc, "")
	call(bridgeCalls+"SendBridgedMessage", message(o.conversation, 1), xmpp, "not_linked")
	call(bridgeCalls+"SendBridgedMessage", message(other.conversation, 1), irc, "not_linked")
	call(bridgeCalls+"SendBridgedMessage", message(o.conversation, 1), irc, "")
	delivery := fmt.Sprintf(`{"conversation": "%d", "seq": "%d", "externalId": "m1"}`, o.conversation, o.seq)
	call(bridgeCalls+"ReportDelivery", delivery, xmpp, "not_linked")
	for _, name := range []string{accounts + "CreateSession", ids + "Ping", admins + "PutUser"} {
		if got := h.post(name, asJSON, []byte(`{}`), bearer(irc)); got.status == http.StatusOK {
			t.Errorf("%s by a bridge succeeds", name)
		}
	}
	bot := h.person("botirc").User
	call(chats+"Remove", fmt.Sprintf(`{"conversation": "%d", "users": ["%d"]}`, o.conversation, bot), p.alice.AccessToken, "")
	call(bridgeCalls+"SendBridgedMessage", message(o.conversation, 2), irc, "not_linked")
	call(bridgeCalls+"ReportDelivery", delivery, irc, "not_linked")
}
