package ranking

import (
	"slices"
	"testing"

	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// TestGoldenToken decodes a stored example of what a page token has.
func TestGoldenToken(t *testing.T) {
	const golden = "\x01" + "\x00\x00\x00\x00\x00\x00\x01\x02\x51" + "\x7f\xff\xff\xff\xff\xff\xff\xff\x03"
	rest, ok := decodeRest([]byte(golden))
	if !ok || len(rest) != 2 || rest[0].post != 258 || rest[1].post != 1<<63-1 {
		t.Fatalf("the posts are %v, %v", rest, ok)
	}
	if got := rest[0].reasonList(); !slices.Equal(got, []rankingv1.RankReason{rankingv1.RankReason_RANK_REASON_FOLLOWED, rankingv1.RankReason_RANK_REASON_RECENT}) {
		t.Errorf("two reasons are %v", got)
	}
	if got := rest[1].reasonList(); !slices.Equal(got, []rankingv1.RankReason{rankingv1.RankReason_RANK_REASON_POPULAR}) {
		t.Errorf("one reason is %v", got)
	}
	if string(encodeRest(rest)) != golden {
		t.Errorf("encoded again it is %q", encodeRest(rest))
	}
	for _, r := range rankingv1.RankReason_value {
		if r > 15 {
			t.Errorf("the reason %d does not fit into four bits", r)
		}
	}
	tooMany := append([]byte(golden[:1]), make([]byte, (orderPosts+1)*entryBytes)...)
	for _, bad := range []string{"", "\x02", golden + "x", string(tooMany)} {
		if _, ok := decodeRest([]byte(bad)); ok {
			t.Errorf("%d bytes are decoded", len(bad))
		}
	}
}
