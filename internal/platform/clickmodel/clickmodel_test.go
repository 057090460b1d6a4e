package clickmodel_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
)

var names = []string{clickmodel.RecencyFeature, clickmodel.LikesFeature, clickmodel.CommentsFeature, "affinity"}

// sample returns examples in lists of 20, whose clicks follow from two features, and conversions from another.
func sample(n int, conversions bool) []clickmodel.Example {
	random := rand.New(rand.NewPCG(7, 7))
	list := make([]clickmodel.Example, n)
	for i := range list {
		e := &list[i]
		e.List, e.Post, e.Goods = uint64(i/20), uint64(i), conversions
		for range names {
			e.Features = append(e.Features, random.Float64())
		}
		e.Clicked = random.Float64() < 1/(1+math.Exp(2-3*e.Features[3]+1*e.Features[0]))
		e.Converted = conversions && random.Float64() < 1/(1+math.Exp(3-2*e.Features[1]))
	}
	return list
}

// A model finds the odds that examples were made with, and is better than what ranks without it.
func TestTrain(t *testing.T) {
	m, err := clickmodel.Train(names, sample(20_000, true))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{-1, 0, 0, 3} {
		if got := m.Click.Term(i, 1); math.Abs(got-want) > 0.25 {
			t.Errorf("%s adds %.2f to the odds, want %.2f", names[i], got, want)
		}
	}
	if got := m.Conversion.Term(1, 1); math.Abs(got-2) > 0.3 || math.Abs(m.Click.Constant()+2) > 0.25 {
		t.Errorf("likes add %.2f to the odds of a conversion, want 2; the constant of clicks is %.2f", got, m.Click.Constant())
	}
	e := m.Evaluation
	if e.Model.AUC < 0.65 || e.Model.AUC < e.Popularity.AUC+0.1 || e.Recency.AUC > 0.5 || e.Model.NDCG < e.Popularity.NDCG || e.CalibrationError > 0.02 || e.LogLoss >= e.BaseLogLoss {
		t.Errorf("the evaluation is %+v", e)
	}
	if e.Examples < 3000 || e.Examples > 5000 || e.Lists != e.Examples/20 || len(e.Calibration) != 10 || e.Conversions.CalibrationError > 0.02 {
		t.Errorf("the evaluation has %d examples in %d lists, and %+v", e.Examples, e.Lists, e.Conversions)
	}
}

// Without enough data there is no model, and the error says what is missing; without conversions there are no estimates of them, and the model says why.
func TestTooLittleData(t *testing.T) {
	few := sample(20_000, false)
	m, err := clickmodel.Train(names, few)
	if err != nil || m.Conversion != nil || m.NoConversion != "0 conversions of posts with goods; 50 are needed" {
		t.Errorf("without conversions: %v, %v", m.NoConversion, err)
	}
	none := sample(5000, false)
	for i := range none {
		none[i].Clicked = i < 99
	}
	for name, list := range map[string][]clickmodel.Example{"999 examples": few[:999], "99 clicks": none, "nothing": nil} {
		if _, err := clickmodel.Train(names, list); err == nil || errs.Of(err).Reason != "too_few_examples" || !strings.Contains(err.Error(), "a model needs 1000") {
			t.Errorf("%s: error %v, want too_few_examples with the number that a model needs", name, err)
		}
	}
}

// Files are the same for the same examples, and are read back as they were written.
func TestFiles(t *testing.T) {
	m, err := clickmodel.Train(names, sample(3000, true))
	if err != nil {
		t.Fatal(err)
	}
	again, err := clickmodel.Train(names, sample(3000, true))
	if err != nil {
		t.Fatal(err)
	}
	a, err := clickmodel.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := clickmodel.Encode(again)
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("two files differ (%v)", err)
	}
	read, err := clickmodel.Decode(a, names)
	if err != nil {
		t.Fatal(err)
	}
	row := []float64{0.3, 0.1, 0.7, 0.9}
	if x, y := read.Click.Probability(row), m.Click.Probability(row); x != y {
		t.Errorf("the estimate is %v, and was %v", x, y)
	}
	for i := range a { // a changed byte is found, wherever it is
		damaged := bytes.Clone(a)
		damaged[i] ^= 1
		if _, err := clickmodel.Decode(damaged, names); err == nil && !bytes.Equal(bytes.TrimSpace(damaged), bytes.TrimSpace(a)) {
			t.Fatalf("byte %d is another one, and nothing is found: %q", i, damaged[max(0, i-20):min(len(damaged), i+20)])
		}
	}
}

// TestGoldenModel reads a stored model (docs/formats/ranking.md).
func TestGoldenModel(t *testing.T) {
	b, err := os.ReadFile("testdata/model.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := clickmodel.Decode(b, names)
	if err != nil {
		t.Fatal(err)
	}
	if p := m.Click.Probability([]float64{0, 0, 0, 1}); math.Abs(p-0.7310585786) > 1e-9 || m.NoConversion == "" || m.Evaluation.Examples != 400 {
		t.Errorf("the estimate is %v, by %+v", p, m)
	}
}
