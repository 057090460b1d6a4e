package rpc_test

import (
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func ofStreamedMessages() map[string]row {
	return map[string]row{
		chats + "StartStreamedMessage": in("", none, func(o subject) proto.Message {
			return &chatv1.StartStreamedMessageRequest{Conversation: o.conversation, ClientMsgId: "1"}
		}),
		chats + "WriteStreamedMessages": own(func(o subject) proto.Message {
			return &chatv1.WriteStreamedMessagesRequest{Parts: []*chatv1.StreamedPart{{Conversation: o.conversation, Seq: o.seq}}}
		}),
		chats + "EndStreamedMessage": in("not_streamed", none, func(o subject) proto.Message {
			return &chatv1.EndStreamedMessageRequest{Conversation: o.conversation, Seq: o.seq, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}}
		}).ownerRefused("not_streamed"),
		chats + "StopStreamedMessage": in("not_streamed", "not_streamed", func(o subject) proto.Message {
			return &chatv1.StopStreamedMessageRequest{Conversation: o.conversation, Seq: o.seq}
		}).ownerRefused("not_streamed"),
		chats + "GetStreamedMessage": in("not_streamed", "not_streamed", func(o subject) proto.Message {
			return &chatv1.GetStreamedMessageRequest{Conversation: o.conversation, Seq: o.seq}
		}).ownerRefused("not_streamed"),
	}
}
