package clickmodel

import (
	"cmp"
	"math"
	"slices"
)

// Evaluation says how good a model is, beside an order by popularity and one by age.
type Evaluation struct {
	// Examples that it was judged by, in Lists, and how many have a click.
	Examples int `json:"examples"`
	Lists    int `json:"lists"`
	Clicks   int `json:"clicks"`
	// Rankings by the model, by popularity (likes and comments) and by recency.
	Model      Quality `json:"model"`
	Popularity Quality `json:"popularity"`
	Recency    Quality `json:"recency"`
	// CalibrationError is the mean difference of the estimates and the clicks, in ten parts of the examples by their estimates.
	CalibrationError float64 `json:"calibration_error"`
	// LogLoss is the mean surprise in nats: lower is better. BaseLogLoss is that of the average alone.
	LogLoss     float64 `json:"log_loss"`
	BaseLogLoss float64 `json:"base_log_loss"`
	// Calibration has the ten parts.
	Calibration []CalibrationPoint `json:"calibration"`
	// Conversions is nil without a head for them.
	Conversions *HeadEvaluation `json:"conversions,omitempty"`
}

// HeadEvaluation judges the estimates of conversions.
type HeadEvaluation struct {
	Examples         int                `json:"examples"`
	Positives        int                `json:"positives"`
	AUC              float64            `json:"auc"`
	CalibrationError float64            `json:"calibration_error"`
	Calibration      []CalibrationPoint `json:"calibration"`
}

// Quality of a ranking.
type Quality struct {
	// AUC is the probability that a post with a click is ranked before one without; 0.5 is chance. 0: it cannot be told.
	AUC float64 `json:"auc"`
	// NDCG is the discounted gain of the first 20 posts, of the best one possible, on average over the lists with a click.
	NDCG float64 `json:"ndcg_20"`
	// Coverage is which part of all posts is in the first quarter of a list, of 20 at most.
	Coverage float64 `json:"coverage"`
	// ROC has which parts of the posts without and with a click are ranked above each of some thresholds.
	ROC []Point `json:"roc"`
}

// Point of a curve, with both values from 0 to 1.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// CalibrationPoint is the average estimate of some examples, and how many of them were positive.
type CalibrationPoint struct {
	Estimated float64 `json:"estimated"`
	Observed  float64 `json:"observed"`
	Examples  int     `json:"examples"`
}

const (
	firstPosts       = 20
	calibrationParts = 10
	rocPoints        = 40
)

// Names of the features by which the baselines rank.
const (
	LikesFeature    = "likes"
	CommentsFeature = "comments"
	RecencyFeature  = "recency"
)

// Evaluate judges a model by examples.
func Evaluate(m *Model, examples []Example) Evaluation {
	e := Evaluation{Examples: len(examples)}
	estimates, popularity, recency := make([]float64, len(examples)), make([]float64, len(examples)), make([]float64, len(examples))
	positives := make([]bool, len(examples))
	likes, comments, age := slices.Index(m.Features, LikesFeature), slices.Index(m.Features, CommentsFeature), slices.Index(m.Features, RecencyFeature)
	value := func(x *Example, feature int) float64 {
		if feature < 0 {
			return 0
		}
		return x.Features[feature]
	}
	var goods []float64
	var bought []bool
	lists := map[uint64][]int{}
	for i := range examples {
		x := &examples[i]
		estimates[i], positives[i] = m.Click.Probability(x.Features), x.Clicked
		popularity[i], recency[i] = value(x, likes)+value(x, comments), value(x, age)
		lists[x.List] = append(lists[x.List], i)
		e.Clicks += toInt(x.Clicked)
		if m.Conversion != nil && x.Goods {
			goods, bought = append(goods, m.Conversion.Probability(x.Features)), append(bought, x.Converted)
		}
	}
	e.Lists = len(lists)
	byList := sorted(lists)
	e.Model = qualityOf(examples, byList, estimates, positives)
	e.Popularity = qualityOf(examples, byList, popularity, positives)
	e.Recency = qualityOf(examples, byList, recency, positives)
	e.Calibration, e.CalibrationError = calibration(estimates, positives)
	e.LogLoss, e.BaseLogLoss = logLoss(estimates, positives)
	if m.Conversion != nil {
		c := &HeadEvaluation{Examples: len(goods), AUC: auc(goods, bought)}
		for _, b := range bought {
			c.Positives += toInt(b)
		}
		c.Calibration, c.CalibrationError = calibration(goods, bought)
		e.Conversions = c
	}
	return e
}

// sorted returns lists in the order of their names, since sums of floats depend on the order.
func sorted(lists map[uint64][]int) [][]int {
	names := make([]uint64, 0, len(lists))
	for n := range lists {
		names = append(names, n)
	}
	slices.Sort(names)
	out := make([][]int, len(names))
	for i, n := range names {
		out[i] = lists[n]
	}
	return out
}

// qualityOf judges scores.
func qualityOf(examples []Example, lists [][]int, scores []float64, positives []bool) Quality {
	q := Quality{AUC: auc(scores, positives), ROC: roc(scores, positives)}
	judged, sum := 0, 0.0
	first, all := map[uint64]bool{}, map[uint64]bool{}
	for _, list := range lists {
		order := slices.Clone(list)
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(examples[a].Post, examples[b].Post))
		})
		for place, i := range order {
			all[examples[i].Post] = true
			if place < min(firstPosts, (len(order)+3)/4) {
				first[examples[i].Post] = true
			}
		}
		if n, ok := ndcg(examples, order); ok {
			sum += n
			judged++
		}
	}
	if judged > 0 {
		q.NDCG = sum / float64(judged)
	}
	if len(all) > 0 {
		q.Coverage = float64(len(first)) / float64(len(all))
	}
	return q
}

func gain(e *Example) float64 {
	if e.Gain > 0 {
		return e.Gain
	}
	return float64(toInt(e.Clicked))
}

// ndcg returns the discounted gain of the first posts of an order, of the best one possible. Without a gain it cannot be told.
func ndcg(examples []Example, order []int) (part float64, ok bool) {
	gains := make([]float64, len(order))
	got, best := 0.0, 0.0
	for place, i := range order {
		gains[place] = gain(&examples[i])
		if place < firstPosts {
			got += gains[place] / math.Log2(float64(place)+2)
		}
	}
	slices.SortFunc(gains, func(a, b float64) int { return cmp.Compare(b, a) })
	for place, g := range gains[:min(firstPosts, len(gains))] {
		best += g / math.Log2(float64(place)+2)
	}
	if best == 0 {
		return 0, false
	}
	return got / best, true
}

// byScore returns the places of scores, the highest first.
func byScore(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// steps calls f behind each run of equal scores, the highest first, with how many negative and positive ones are in it.
func steps(scores []float64, positives []bool, f func(negative, positive int)) {
	order := byScore(scores)
	for from := 0; from < len(order); {
		to, n := from, [2]int{}
		for ; to < len(order) && scores[order[to]] == scores[order[from]]; to++ {
			n[toInt(positives[order[to]])]++
		}
		f(n[0], n[1])
		from = to
	}
}

// auc returns the probability that a positive one has a higher score than a negative one; of two that are equal, half counts.
func auc(scores []float64, positives []bool) float64 {
	above, all, sum := 0, 0, 0.0
	steps(scores, positives, func(negative, positive int) {
		sum += float64(negative) * (float64(above) + float64(positive)/2)
		above += positive
		all += negative
	})
	if above == 0 || all == 0 {
		return 0
	}
	return sum / float64(above) / float64(all)
}

// roc returns points of the curve, from (0, 0) to (1, 1).
func roc(scores []float64, positives []bool) []Point {
	total := [2]int{}
	for _, p := range positives {
		total[toInt(p)]++
	}
	if total[0] == 0 || total[1] == 0 {
		return nil
	}
	points, now := []Point{{}}, [2]int{}
	steps(scores, positives, func(negative, positive int) {
		now[0] += negative
		now[1] += positive
		p := Point{float64(now[0]) / float64(total[0]), float64(now[1]) / float64(total[1])}
		if last := points[len(points)-1]; p.X-last.X+p.Y-last.Y >= 2.0/rocPoints || now == total {
			points = append(points, p)
		}
	})
	return points
}

// calibration compares estimates with outcomes, in parts of as many examples each.
func calibration(estimates []float64, positives []bool) (points []CalibrationPoint, mean float64) {
	order := byScore(estimates)
	slices.Reverse(order)
	for i := range calibrationParts {
		some := order[len(order)*i/calibrationParts : len(order)*(i+1)/calibrationParts]
		if len(some) == 0 {
			continue
		}
		var p CalibrationPoint
		for _, n := range some {
			p.Estimated += estimates[n]
			p.Observed += float64(toInt(positives[n]))
		}
		p.Examples = len(some)
		p.Estimated /= float64(len(some))
		p.Observed /= float64(len(some))
		mean += math.Abs(p.Estimated-p.Observed) * float64(len(some)) / float64(len(order))
		points = append(points, p)
	}
	return points, mean
}

// logLoss returns the mean surprise by outcomes after some estimates, and after the average.
func logLoss(estimates []float64, positives []bool) (loss, base float64) {
	n, clicks := float64(len(estimates)), 0.0
	for i, p := range positives {
		if p {
			loss -= math.Log(estimates[i])
			clicks++
		} else {
			loss -= math.Log(1 - estimates[i])
		}
	}
	if n == 0 {
		return 0, 0
	}
	if r := clicks / n; r > 0 && r < 1 {
		base = -r*math.Log(r) - (1-r)*math.Log(1-r)
	}
	return loss / n, base
}
