package streamedmessage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/service/streamedmessage"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// What a part costs, of those of a call with 100 parts, and what a push costs, of a thousand messages in groups of three. CPU of a thousand
// messages: pushes/s × ns/push + parts/s × ns/part.
func BenchmarkParts(b *testing.B) {
	const messages = 1000
	n := newNodes(b, 1, streamedmessage.Config{MaxPerUser: messages})
	o := n.list[0]
	seqs := make([]*chatv1.StreamedPart, messages)
	for i := range seqs {
		group, err := o.chat.CreateGroup(context.Background(), ann.User, &chatv1.CreateGroupRequest{Title: fmt.Sprint(i), Members: []uint64{uint64(bob.User), uint64(bot.User)}})
		n.must(err)
		a, err := o.Start(context.Background(), bot, &chatv1.StartStreamedMessageRequest{Conversation: uint64(group), ClientMsgId: "1"})
		n.must(err)
		seqs[i] = &chatv1.StreamedPart{Conversation: uint64(group), Seq: a.Seq, Text: "a few words of it "}
	}
	write := func(i int) {
		const some = 100
		q := &chatv1.WriteStreamedMessagesRequest{Parts: seqs[i%(messages/some)*some:][:some]}
		a, err := o.Write(context.Background(), bot, q)
		n.must(err)
		for k, r := range a.Results {
			if r.Reason != "" {
				b.Fatalf("a part is answered with %v", r)
			}
			if q.Parts[k].Offset = r.Length; r.Length > 90_000 {
				b.Fatal("give a smaller -benchtime")
			}
		}
	}
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			write(i)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/part")
	})
	b.Run("push", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			for k := range messages / 100 {
				write(k)
			}
			n.pass(time.Minute)
			o.pushes(bob.User)
			o.pushes(ann.User)
			b.StartTimer()
			o.Push(context.Background())
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/messages, "ns/push")
		b.ReportMetric(float64(o.Interval()), "ms/interval")
	})
}
