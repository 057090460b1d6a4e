package directory

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// An owner accepts announcements only from the process that has registered, in the owner's own term, and in their order.
func TestAnnouncementsOfOtherRegistrationsAreRefused(t *testing.T) {
	s := New(Deps{Node: "owner", Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler),
		Cluster: &Cluster{Partitions: 1, Partition: func(uint64) int { return 0 }}}, Config{})
	announce := func(process, term, seq uint64, want byte) {
		t.Helper()
		a := announcement{node: "n", process: process, term: term, seq: seq, entries: []entry{{key: key{aboutFollow, seq}, on: true}}}
		got, err := readAnswer(s.handleRequest(a.append(nil)))
		if err != nil || got.code != want || got.code == answerAccepted && got.term != s.partitions[0].owner.current() {
			t.Errorf("process %d, term %d, seq %d: answered %+v, %v; want %d", process, term, seq, got, err, want)
		}
	}
	verify := func(process, term uint64, want byte) {
		t.Helper()
		q := verification{node: "n", process: process, partitions: []verifiedPartition{{0, term}, {1, term}}}
		codes, err := readVerificationAnswer(s.Answer(q.append(nil)))
		if err != nil || !bytes.Equal(codes, []byte{want, answerNotOwner}) {
			t.Errorf("process %d, term %d: %v, %v; want %d", process, term, codes, err, want)
		}
	}
	const first, second = 1, 2
	announce(first, 0, 1, answerNotOwner)
	s.TakeOver(0, 7)
	announce(first, 7, 1, answerUnregistered)
	announce(first, 0, 2, answerAccepted)
	announce(first, 7, 3, answerAccepted)
	verify(first, 7, answerAccepted)
	announce(second, 0, 1, answerAccepted) // the node has started again
	announce(first, 7, 4, answerUnregistered)
	verify(first, 7, answerUnregistered)
	announce(second, 7, 2, answerAccepted)
	announce(second, 7, 2, answerUnregistered) // a late duplicate
	announce(second, 0, 1, answerUnregistered)
	announce(second, 7, 3, answerAccepted)
	announce(first, 0, 5, answerAccepted)      // a late full sync of the earlier process
	announce(second, 0, 1, answerUnregistered) // and one of the present process: it must not register without what was reported since
	verify(second, 7, answerUnregistered)      // so the node reports everything again
	announce(second, 0, 4, answerAccepted)
	announce(second, 7, 5, answerAccepted)
	s.TakeOver(0, 9)
	verify(second, 7, answerUnregistered)
	announce(second, 7, 4, answerUnregistered)
	announce(second, 0, 5, answerAccepted)
	announce(second, 9, 6, answerAccepted)
	announce(second, 7, 7, answerUnregistered)
	verify(second, 9, answerAccepted)
	s.Release(0)
	announce(second, 9, 7, answerNotOwner)
}
