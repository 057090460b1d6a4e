package rpc_test

import (
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const traceCalls = "/rialto.chat.v1.MessageTraceService/"

func ofMessageTraces() map[string]row {
	return map[string]row{
		traceCalls + "TraceMessage": all("no_audit", func(o subject) proto.Message {
			return &chatv1.TraceMessageRequest{Conversation: o.conversation, Seq: o.seq}
		}),
	}
}
