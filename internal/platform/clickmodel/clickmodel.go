// Package clickmodel trains, stores and evaluates models that estimate the probability that a reader opens a post that is shown and, for posts with goods, buys.
//
// A model is a logistic regression over the features that the ranking computes (docs/formats/ranking.md). The log-odds are a sum with a term for each feature, so each
// estimate can be explained. A second regression over the same features, for posts with goods only, estimates conversions. Both are fitted to examples by Newton's method and
// then calibrated on examples that they were not fitted to. A third part of the examples evaluates the result (evaluate.go).
//
// Everything is deterministic: the same examples in the same order make the same file, byte by byte, on one kind of processor. The package has no state.
package clickmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// Example is a post that was shown to a reader.
type Example struct {
	// List names what was shown together, so that the examples of a list are either all for training or all not.
	List uint64
	Post uint64
	// Features in the order of the model's.
	Features []float64
	Clicked  bool
	// Goods: the post has goods. Converted: the reader bought some of them.
	Goods, Converted bool
	// Gain is how good the post is for the reader, if that is known, as in simulations; else Clicked counts.
	Gain float64
}

// Head estimates one probability.
type Head struct {
	Bias    float64   `json:"bias"`
	Weights []float64 `json:"weights"`
	// Scale and Shift calibrate the log-odds: scale × (bias + weights × features) + shift.
	Scale float64 `json:"scale"`
	Shift float64 `json:"shift"`
	// Examples that it was fitted to, and how many of them are positive.
	Examples  int `json:"examples"`
	Positives int `json:"positives"`
}

// Model of clicks, and of conversions if there were enough of them.
type Model struct {
	Features []string `json:"features"`
	Click    Head     `json:"click"`
	// Conversion is nil if NoConversion says why.
	Conversion   *Head  `json:"conversion,omitempty"`
	NoConversion string `json:"no_conversion,omitempty"`
	// FromMs and ToMs are the times of the first and last example, in milliseconds since 1970; 0: they are not known.
	FromMs int64 `json:"from_ms,omitempty"`
	ToMs   int64 `json:"to_ms,omitempty"`
	// Evaluation by the examples that neither the fit nor the calibration had.
	Evaluation Evaluation `json:"evaluation"`
}

// The minimum for training. With less, estimates would reflect chance rather than readers.
const (
	MinExamples    = 1000
	MinClicks      = 100
	MinConversions = 50
	// Fewer positives than this in the examples for calibration leave a head as it was fitted.
	minCalibration = 10
	// ridge is the penalty of squared weights: it keeps those of rare features small.
	ridge     = 1.0
	maxRounds = 50
	// maxLogOdds bounds log-odds.
	maxLogOdds = 30
)

// parts of the examples, by their lists.
type part int

const (
	fitting part = iota
	calibrating
	judging
)

// partOf returns the part of a list: three fifths are fitted to, a fifth calibrates, a fifth judges.
func partOf(list uint64) part {
	switch id.Hash(list) % 5 {
	case 0:
		return judging
	case 1:
		return calibrating
	}
	return fitting
}

// Train fits a model, and evaluates it. It fails with too_few_examples, and says what is missing.
func Train(features []string, examples []Example) (*Model, error) {
	clicks, conversions := 0, 0
	for i := range examples {
		if len(examples[i].Features) != len(features) {
			return nil, fmt.Errorf("clickmodel: an example has %d features, want %d", len(examples[i].Features), len(features))
		}
		clicks += toInt(examples[i].Clicked)
		conversions += toInt(examples[i].Goods && examples[i].Converted)
	}
	if len(examples) < MinExamples || clicks < MinClicks || len(examples)-clicks < MinClicks {
		return nil, errs.New(errs.Invalid, "too_few_examples", fmt.Sprintf(
			"%d examples, %d of them with a click: a model needs %d, of which %d have a click and %d have none; until then posts are ranked by the weights", len(examples), clicks, MinExamples, MinClicks, MinClicks))
	}
	m := &Model{Features: slices.Clone(features)}
	var err error
	if m.Click, err = train(len(features), examples, clicked); err != nil {
		return nil, fmt.Errorf("clicks: %w", err)
	}
	if conversions < MinConversions {
		m.NoConversion = fmt.Sprintf("%d conversions of posts with goods; %d are needed", conversions, MinConversions)
	} else {
		h, err := train(len(features), examples, converted)
		if err != nil {
			return nil, fmt.Errorf("conversions: %w", err)
		}
		m.Conversion = &h
	}
	m.Evaluation = Evaluate(m, Held(examples))
	return m, nil
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Held returns the examples that judge: Train uses them for nothing else.
func Held(examples []Example) (list []Example) {
	for i := range examples {
		if partOf(examples[i].List) == judging {
			list = append(list, examples[i])
		}
	}
	return list
}

// outcome returns whether an example is positive for a head, and whether it counts.
type outcome func(e *Example) (positive, counts bool)

func clicked(e *Example) (positive, counts bool)   { return e.Clicked, true }
func converted(e *Example) (positive, counts bool) { return e.Converted, e.Goods }

// train fits and calibrates a head.
func train(features int, examples []Example, of outcome) (Head, error) {
	var rows [][]float64
	var y []bool
	var logOdds [][]float64
	var calibrated []bool
	h := Head{Scale: 1, Weights: make([]float64, features)}
	for i := range examples {
		e := &examples[i]
		positive, counts := of(e)
		switch p := partOf(e.List); {
		case !counts || p == judging:
		case p == fitting:
			rows, y = append(rows, e.Features), append(y, positive)
			h.Examples++
			h.Positives += toInt(positive)
		default:
			logOdds, calibrated = append(logOdds, e.Features), append(calibrated, positive)
		}
	}
	w, err := fit(rows, y, features, ridge)
	if err != nil {
		return Head{}, err
	}
	h.Bias, h.Weights = w[features], w[:features]
	positives := 0
	for i, row := range logOdds {
		logOdds[i] = []float64{h.logOdds(row)}
		positives += toInt(calibrated[i])
	}
	if positives < minCalibration || len(logOdds)-positives < minCalibration {
		return h, nil
	}
	if w, err = fit(logOdds, calibrated, 1, 0); err == nil && w[0] > 0 {
		h.Scale, h.Shift = w[0], w[1]
	}
	return h, nil
}

// logOdds returns the log-odds of a row before calibration.
func (h *Head) logOdds(row []float64) float64 {
	sum := h.Bias
	for i, w := range h.Weights {
		sum += w * row[i]
	}
	return sum
}

// LogOdds returns the calibrated log-odds.
func (h *Head) LogOdds(row []float64) float64 { return h.Scale*h.logOdds(row) + h.Shift }

// Probability returns the estimate for a row of features.
func (h *Head) Probability(row []float64) float64 { return logistic(h.LogOdds(row)) }

// Term returns what a feature adds to the log-odds.
func (h *Head) Term(feature int, value float64) float64 {
	return h.Scale * h.Weights[feature] * value
}

// Constant returns what is added to the log-odds of all posts.
func (h *Head) Constant() float64 { return h.Scale*h.Bias + h.Shift }

func logistic(x float64) float64 {
	return 1 / (1 + math.Exp(-max(-maxLogOdds, min(maxLogOdds, x))))
}

// fit returns the weights of the columns of some rows, and the bias behind them, which make the outcomes most probable, less a penalty for large weights.
func fit(rows [][]float64, y []bool, columns int, penalty float64) ([]float64, error) {
	positives := 0
	for _, p := range y {
		positives += toInt(p)
	}
	if positives == 0 || positives == len(y) {
		return nil, errs.New(errs.Invalid, "too_few_examples", fmt.Sprintf("%d of %d examples are positive: there is nothing to tell apart", positives, len(y)))
	}
	n := columns + 1
	w := make([]float64, n)
	w[columns] = math.Log(float64(positives) / float64(len(y)-positives))
	gradient, hessian := make([]float64, n), make([][]float64, n)
	for i := range hessian {
		hessian[i] = make([]float64, n)
	}
	x := make([]float64, n)
	for range maxRounds {
		for i := range n {
			gradient[i] = 0
			clear(hessian[i])
		}
		for r, row := range rows {
			copy(x, row)
			x[columns] = 1
			sum := 0.0
			for i := range n {
				sum += w[i] * x[i]
			}
			p := logistic(sum)
			miss, curve := p-float64(toInt(y[r])), max(1e-9, p*(1-p))
			for i := range n {
				gradient[i] += miss * x[i]
				for j := range i + 1 {
					hessian[i][j] += curve * x[i] * x[j]
				}
			}
		}
		for i := range columns {
			gradient[i] += penalty * w[i]
			hessian[i][i] += penalty
		}
		step, err := solve(hessian, gradient)
		if err != nil {
			return nil, err
		}
		longest := 0.0
		for i := range n {
			// Newton's method may leap too far where outcomes are almost certain.
			d := max(-2, min(2, step[i]))
			w[i] -= d
			longest = max(longest, math.Abs(d))
		}
		if longest < 1e-8 {
			break
		}
	}
	return w, nil
}

// solve solves a × x = b for a symmetric positive matrix, of which it reads the lower half, by Cholesky's method. It overwrites a.
func solve(a [][]float64, b []float64) ([]float64, error) {
	n := len(b)
	for i := range n {
		a[i][i] += 1e-9 // a column of zeros
		for j := range i + 1 {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			switch {
			case i != j:
				a[i][j] = sum / a[j][j]
			case sum <= 0 || math.IsNaN(sum):
				return nil, fmt.Errorf("clickmodel: the examples cannot be fitted: %v in column %d", sum, i)
			default:
				a[i][i] = math.Sqrt(sum)
			}
		}
	}
	x := slices.Clone(b)
	for i := range n {
		for k := range i {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[k][i] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x, nil
}
