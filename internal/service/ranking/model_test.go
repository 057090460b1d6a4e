package ranking_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/service/ranking"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
)

// modelFile returns the file of a model in which one feature decides.
func modelFile(t testing.TB, feature string, weight float64) []byte {
	t.Helper()
	names := ranking.ModelFeatures()
	head := func() clickmodel.Head {
		h := clickmodel.Head{Bias: -2, Scale: 1, Weights: make([]float64, len(names)), Examples: 5000, Positives: 400}
		h.Weights[slices.Index(names, feature)] = weight
		return h
	}
	conversion := head()
	b, err := clickmodel.Encode(&clickmodel.Model{Features: names, Click: head(), Conversion: &conversion, Evaluation: clickmodel.Evaluation{Examples: 1000, Lists: 50, Clicks: 80, CalibrationError: 0.01}})
	must(t, err)
	return b
}

func (f *fixture) put(file []byte) uint64 {
	f.t.Helper()
	m, err := f.PutRankingModel(context.Background(), &rankingv1.PutRankingModelRequest{File: file, By: "olga", Reason: "a test"})
	must(f.t, err)
	return m.Id
}

func (f *fixture) activate(n uint64) *rankingv1.ListRankingModelsResponse {
	f.t.Helper()
	r, err := f.ActivateRankingModel(context.Background(), &rankingv1.ActivateRankingModelRequest{Model: n, By: "olga", Reason: "a test"})
	must(f.t, err)
	return r
}

// A model ranks when it is activated, on this node and on others, and its estimates are explained. The one before, or the weights, can be put back.
func TestModelsRank(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader := f.user()
	var posts []uint64
	for i := range 3 {
		author := f.user()
		f.follow(reader, author)
		n := f.publish(author, &feedv1.PostContent{Text: "a post", Goods: []*feedv1.Goods{{Name: "a thing", Currency: "EUR", Link: "https://example.org"}}})
		for range i {
			f.like(n, f.user())
		}
		posts = append(posts, n)
	}
	backwards := slices.Clone(posts)
	slices.Reverse(backwards)
	r, err := f.ListRankingModels(ctx)
	must(t, err)
	if r.Active != 0 || len(r.Models) != 0 || r.Fallback != "no model is in use: posts are ranked by the weights; a model needs 1000 posts that were seen, 100 of them opened" {
		t.Errorf("at first there are %v", r)
	}
	unliked, liked := f.put(modelFile(t, "likes", -20)), f.put(modelFile(t, "likes", 20))
	if got := f.fresh(reader); !slices.Equal(got, backwards) {
		t.Errorf("without a model the order is %d, want %d", got, backwards)
	}
	r = f.activate(unliked)
	if r.Active != unliked || r.Fallback != "" || len(r.Models) != 2 || r.Models[0].Id != liked || r.Models[1].Evaluation.GetCalibrationError() != 0.01 || r.Models[1].Clicks != 400 || r.Models[1].By != "olga" {
		t.Errorf("the models are %v", r)
	}
	if got := f.fresh(reader); !slices.Equal(got, posts) {
		t.Errorf("by a model that dislikes likes the order is %d, want %d", got, posts)
	}
	f.ForgetModel() // as on another node
	f.explained(reader, posts[2], unliked)
	f.activate(liked)
	if got := f.fresh(reader); !slices.Equal(got, backwards) {
		t.Errorf("by the other model the order is %d, want %d", got, backwards)
	}
	r = f.activate(unliked)
	if len(r.Changes) != 3 || r.Changes[0].Model != unliked || r.Changes[1].Model != liked || r.Changes[0].By != "olga" {
		t.Errorf("the changes are %v", r.Changes)
	}
	if r = f.activate(0); r.Active != 0 || r.Fallback == "" || !slices.Equal(f.fresh(reader), backwards) {
		t.Errorf("without a model again: %v", r)
	}
	if _, err := f.ActivateRankingModel(ctx, &rankingv1.ActivateRankingModelRequest{Model: 99, By: "olga"}); reason(err) != "no_model" {
		t.Errorf("an unknown model is answered with %v", err)
	}
	if _, err := f.ActivateRankingModel(ctx, &rankingv1.ActivateRankingModelRequest{Model: liked, By: "olga (os:root@db)"}); reason(err) != "bad_change" {
		t.Errorf("a name of a user of the operating system is answered with %v", err)
	}
	if _, err := f.ActivateRankingModel(ctx, &rankingv1.ActivateRankingModelRequest{Model: liked}); reason(err) != "bad_change" {
		t.Errorf("an activation by nobody is answered with %v", err)
	}
}

// explained checks that a score is explained by the estimates of a model.
func (f *fixture) explained(reader id.User, post, model uint64) {
	f.t.Helper()
	r, err := f.ExplainRanking(f.t.Context(), &rankingv1.ExplainRankingRequest{User: uint64(reader), Post: post})
	must(f.t, err)
	s, sum, odds := r.Score, 0.0, 0.0
	var names []string
	for _, p := range s.Parts {
		sum += p.Points
		names = append(names, p.Weight)
	}
	for _, term := range s.ClickTerms {
		odds += term.LogOdds
	}
	if s.Model != model || s.Fallback != "" || !slices.Equal(names, []string{"seen", "shown_less", "click", "conversion"}) || math.Abs(sum-s.Total) > 1e-9 ||
		math.Abs(1/(1+math.Exp(-odds))-s.Parts[2].Feature) > 1e-9 || len(s.ClickTerms) != len(ranking.ModelFeatures())+1 || len(s.ConversionTerms) != len(s.ClickTerms) {
		f.t.Errorf("the score is %v", s)
	}
}

// TestStoredModelsAreInTheAuditLog: who stored which file, and why, with the model. What is refused is not in it.
func TestStoredModelsAreInTheAuditLog(t *testing.T) {
	f := open(t)
	file := modelFile(t, "likes", 1)
	model := f.put(file)
	if _, err := f.PutRankingModel(t.Context(), &rankingv1.PutRankingModelRequest{File: file[1:], By: "olga"}); reason(err) != "bad_model" {
		t.Errorf("a damaged file is answered with %v", err)
	}
	list, err := f.audit.List(t.Context(), 1<<40, 10)
	must(t, err)
	if len(list) != 1 || list[0].Who != "olga" || list[0].Action != "ranking.put_model" || list[0].Subject != fmt.Sprint("model ", model) || list[0].Reason != "a test" || list[0].After != fmt.Sprintf("SHA-256 %x", sha256.Sum256(file)) {
		t.Errorf("the audit log has %+v", list)
	}
}

// Files that are damaged or foreign are refused, and a model in use that cannot be read is passed over, with a reason. Old models are deleted, but never the one in use.
func TestBadModels(t *testing.T) {
	f := open(t)
	good := modelFile(t, "likes", 1)
	foreign, err := clickmodel.Encode(&clickmodel.Model{Features: []string{"likes"}, Click: clickmodel.Head{Scale: 1, Weights: []float64{1}}, Evaluation: clickmodel.Evaluation{Examples: 1}})
	must(t, err)
	for name, file := range map[string][]byte{"an empty file": nil, "a text": []byte("hello"), "a damaged one": bytes.Replace(good, []byte(`"bias":-2`), []byte(`"bias":-3`), 1), "another format": bytes.Replace(good, []byte(`"format":1`), []byte(`"format":2`), 1),
		"other features": foreign, "a long one": make([]byte, clickmodel.MaxFile+1), "two": append(slices.Clone(good), good...)} {
		if _, err := f.PutRankingModel(t.Context(), &rankingv1.PutRankingModelRequest{File: file, By: "olga"}); reason(err) != "bad_model" {
			t.Errorf("%s is answered with %v", name, err)
		}
	}
	for _, r := range []*rankingv1.PutRankingModelRequest{{File: good}, {File: good, By: "two\nlines"}, {File: good, By: "olga (os:root@db)"}, {File: good, By: "olga", Reason: "\x00"}} {
		if _, err := f.PutRankingModel(t.Context(), r); reason(err) != "bad_ranking" {
			t.Errorf("%q with the reason %q is answered with %v", r.By, r.Reason, err)
		}
	}
	first := f.put(good)
	f.activate(first)
	for range ranking.MaxModels + 5 {
		f.put(good)
	}
	r, err := f.ListRankingModels(t.Context())
	must(t, err)
	if len(r.Models) != ranking.MaxModels+1 || r.Active != first || r.Models[len(r.Models)-1].Id != first {
		t.Errorf("%d models, %d in use", len(r.Models), r.Active)
	}
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE ranking_models SET file = $1 WHERE id = $2`, foreign, int64(first))
		return err
	}))
	f.ForgetModel()
	reader, author := f.user(), f.user()
	f.follow(reader, author)
	n := f.post(author)
	got, err := f.ExplainRanking(t.Context(), &rankingv1.ExplainRankingRequest{User: uint64(reader), Post: n})
	must(t, err)
	if got.Score.Model != 0 || got.Score.Fallback == "" || len(got.Score.Parts) != 9 || len(f.fresh(reader)) != 1 {
		t.Errorf("a model that cannot be read: %v", got.Score)
	}
	if _, err := f.ActivateRankingModel(t.Context(), &rankingv1.ActivateRankingModelRequest{Model: first, By: "olga"}); reason(err) != "bad_model" {
		t.Errorf("its activation is answered with %v", err)
	}
}

// examples returns all examples, in pages.
func (f *fixture) examples(limit uint32) (list []*rankingv1.RankingExample) {
	f.t.Helper()
	for page := ""; ; {
		r, err := f.ListRankingExamples(f.t.Context(), &rankingv1.ListRankingExamplesRequest{Page: page, Limit: limit})
		must(f.t, err)
		list = append(list, r.Examples...)
		if page = r.Next; page == "" {
			return list
		}
	}
}

// What ForYou shows is logged with what became of it: it was seen, opened, liked, commented on, bought, or nothing of these.
func TestExamples(t *testing.T) {
	f := open(t)
	ctx := t.Context()
	reader, other := f.user(), f.user()
	var posts []uint64
	for i := range 6 {
		author := f.user()
		f.follow(reader, author)
		f.follow(other, author)
		c := &feedv1.PostContent{Text: fmt.Sprint("a post ", i)}
		if i >= 4 {
			c.Goods = []*feedv1.Goods{{Name: "a thing", Currency: "EUR", Link: "https://example.org"}}
		}
		posts = append(posts, f.publish(author, c))
	}
	f.like(posts[3], reader) // before it was shown
	f.clock.Advance(time.Minute)
	f.read(reader, "", 20)
	must(t, f.RecordClicks(ctx, reader, &rankingv1.RecordClicksRequest{Posts: []uint64{posts[0]}})) // before the page is written
	if _, err := f.ForYou(ctx, other, &rankingv1.ForYouRequest{Explain: true}); err != nil || f.WaitingImpressions() != 1 {
		t.Fatalf("%d pages wait, %v", f.WaitingImpressions(), err)
	}
	must(t, f.FlushImpressions(ctx))
	f.clock.Advance(time.Minute)
	must(t, f.RecordClicks(ctx, other, &rankingv1.RecordClicksRequest{Posts: posts}))
	f.like(posts[1], reader)
	f.comment(reader, posts[2])
	must(t, f.engaged.RecordViews(ctx, reader, &engagementv1.RecordViewsRequest{Posts: []uint64{posts[3], posts[4]}}))
	must(t, f.RecordConversions(ctx, &rankingv1.RecordConversionsRequest{User: uint64(reader), Posts: []uint64{posts[3], posts[5]}}))
	list := f.examples(2)
	got := map[uint64]string{}
	for _, e := range list {
		got[e.Post] = fmt.Sprintf("clicked %v, goods %v, converted %v", e.Clicked, e.Goods, e.Converted)
		if e.List != list[0].List || e.ShownMs != list[0].ShownMs || len(e.Features) != len(ranking.ModelFeatures()) || e.Features[0] < 0.9 || e.Features[4] != 1 {
			t.Errorf("the example is %v", e)
		}
	}
	for i, want := range []string{"clicked true, goods false, converted false", "clicked true, goods false, converted false", "clicked true, goods false, converted false",
		"clicked false, goods false, converted false", "clicked false, goods true, converted false", "clicked true, goods true, converted true"} {
		if got[posts[i]] != want {
			t.Errorf("post %d: %q, want %q", i, got[posts[i]], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d examples", len(got))
	}
	f.boundsOfExamples(reader, posts)
}

// boundsOfExamples: what is not seen is no example, late clicks do not count, and old rows are deleted.
func (f *fixture) boundsOfExamples(reader id.User, posts []uint64) {
	ctx := f.t.Context()
	f.clock.Advance(48 * time.Hour)
	next := f.user()
	author := f.user()
	f.follow(next, author)
	late := f.post(author)
	f.read(next, "", 20)
	must(f.t, f.FlushImpressions(ctx))
	if list := f.examples(0); len(list) != 6 {
		f.t.Errorf("%d examples, with one that was not seen", len(list))
	}
	f.clock.Advance(25 * time.Hour)
	must(f.t, f.RecordClicks(ctx, next, &rankingv1.RecordClicksRequest{Posts: []uint64{late}}))
	must(f.t, f.RecordConversions(ctx, &rankingv1.RecordConversionsRequest{User: uint64(reader), Posts: posts[4:]}))
	if list := f.examples(0); len(list) != 6 || !slices.ContainsFunc(list, func(e *rankingv1.RankingExample) bool { return e.Post == posts[4] && e.Converted }) {
		f.t.Errorf("after a late click and a conversion: %v", list)
	}
	f.clock.Advance(28 * 24 * time.Hour)
	must(f.t, f.Clean(ctx))
	if r, err := f.ListRankingModels(ctx); err != nil || r.Shown != 1 {
		f.t.Errorf("after a month %d rows are left, %v", r.GetShown(), err)
	}
	for name, err := range map[string]error{"too many posts": f.RecordClicks(ctx, next, &rankingv1.RecordClicksRequest{Posts: make([]uint64, 101)}), "bad limit": func() error {
		_, err := f.ListRankingExamples(ctx, &rankingv1.ListRankingExamplesRequest{Limit: 1001})
		return err
	}()} {
		if reason(err) != "bad_ranking" {
			f.t.Errorf("%s: error %v, want the reason bad_ranking", name, err)
		}
	}
	if _, err := f.ListRankingExamples(ctx, &rankingv1.ListRankingExamplesRequest{Page: "AAAA"}); reason(err) != "bad_page" {
		f.t.Errorf("a forged page is answered with %v", err)
	}
	if err := f.RecordConversions(ctx, &rankingv1.RecordConversionsRequest{User: 7, Posts: posts}); reason(err) != "no_user" {
		f.t.Errorf("a conversion of nobody is answered with %v", err)
	}
}

// The log is a sample: however many pages are shown between two writes, few are written.
func TestTheLogIsASample(t *testing.T) {
	f := open(t)
	author := f.user()
	f.post(author)
	for range 30 {
		reader := f.user()
		f.follow(reader, author)
		f.read(reader, "", 20)
	}
	if n := f.WaitingImpressions(); n != 5 {
		t.Errorf("%d pages wait, want 5", n)
	}
	must(t, f.FlushImpressions(t.Context()))
	if r, err := f.ListRankingModels(t.Context()); err != nil || r.Shown != 5 || f.WaitingImpressions() != 0 {
		t.Errorf("%d rows, and %d pages wait, %v", r.GetShown(), f.WaitingImpressions(), err)
	}
}
