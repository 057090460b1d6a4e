package ranking

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Posts about the same things are more alike than others, in any language; so are those of an author.
func TestVectors(t *testing.T) {
	of := func(author uint64, words string) *vector {
		return factsOf(&feedv1.Post{Author: author, Content: &feedv1.PostContent{Text: words}}).vector
	}
	a := of(1, "Training for the Berlin marathon: intervals and long runs #running")
	for name, pair := range map[string][2]*vector{
		"the same words, or others":   {of(2, "Long runs before the Berlin marathon #running"), of(2, "A recipe for potato soup with leeks")},
		"the same tag, or another":    {of(2, "Today was hard #running"), of(2, "Today was hard #cooking")},
		"the same author, or another": {of(1, "something else entirely"), of(2, "something else entirely")},
	} {
		if near, far := a.likeness(pair[0]), a.likeness(pair[1]); near < far+0.05 {
			t.Errorf("%s: %.2f and %.2f", name, near, far)
		}
	}
	if near, far := of(1, "柏林马拉松训练计划").likeness(of(2, "马拉松训练")), of(1, "柏林马拉松训练计划").likeness(of(2, "土豆汤的做法")); near < far+0.2 {
		t.Errorf("in Chinese %.2f and %.2f", near, far)
	}
	var none *vector
	if none.likeness(a) != 0 || a.likeness(none) != 0 || a.likeness(a) < 0.999 {
		t.Errorf("the likeness with itself is %v", a.likeness(a))
	}
	// Nodes of all builds make the same vectors.
	if got := fmt.Sprintf("%.4f %.4f %.4f", a[0], a[1], a[63]); got != goldenVector {
		t.Errorf("the vector begins and ends with %s, want %s", got, goldenVector)
	}
}

const goldenVector = "0.1131 0.0383 -0.0986"

// TestDiversity: of posts with similar scores, those that are not like earlier ones come first, as far as operators want.
func TestDiversity(t *testing.T) {
	list := func() (out []*candidate) {
		for i := range 12 {
			words := "Long runs before the Berlin marathon"
			if i >= 8 {
				words = []string{"A recipe for potato soup", "Repairing old bicycles", "Concerts of string quartets", "Quarterly figures of shipping"}[i-8]
			}
			f := factsOf(&feedv1.Post{Author: uint64(i + 1), Content: &feedv1.PostContent{Text: words}})
			out = append(out, &candidate{facts: f, post: uint64(i), score: 1 - float64(i)/100})
		}
		return out
	}
	posts := func(diversity float64) (ids []uint64) {
		for _, c := range arrange(list(), diversity) {
			ids = append(ids, c.post)
		}
		return ids
	}
	if got := posts(0); !slices.IsSorted(got) {
		t.Errorf("without a weight the order is %d", got)
	}
	got := posts(-0.3)
	first := slices.Sorted(slices.Values(got[:5]))
	if len(got) != 12 || !slices.Equal(first, []uint64{0, 8, 9, 10, 11}) || got[0] != 0 {
		t.Errorf("the order is %d", got)
	}
}

// TestGoldenFeatures decodes stored features (docs/formats/ranking.md).
func TestGoldenFeatures(t *testing.T) {
	const golden = "01" + "3f800000" + "3e800000" + "00000000" + "3f000000" + "3f800000" + "00000000" + "00000000" + "00000000" + "3f400000" + "00000000" + "00000000" + "3f800000"
	b, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	row, ok := decodeFeatures(b)
	if !ok || len(row) != rowFeatures || row[0] != 1 || row[1] != 0.25 || row[3] != 0.5 || row[8] != 0.75 || row[11] != 1 {
		t.Fatalf("the features are read as %v, %v; want those of the example", row, ok)
	}
	if got := fmt.Sprint(ModelFeatures()); got != "[recency likes comments affinity followed network seen shown_less similarity video images goods]" {
		t.Errorf("the features are %s", got)
	}
	v := values{recency: 1, likes: 0.25, affinity: 0.5, followed: 1, similarity: 0.75}
	if got := hex.EncodeToString(encodeFeatures(rowOf(&v, &facts{goods: true}))); got != golden {
		t.Errorf("encoded: %s, want %s", got, golden)
	}
	for name, b := range map[string][]byte{"another version": append([]byte{2}, b[1:]...), "a short one": b[:len(b)-4], "nothing": nil} {
		if _, ok := decodeFeatures(b); ok {
			t.Errorf("%s is read", name)
		}
	}
}
