package rank

import (
	"fmt"
	"math"
	"strings"

	"github.com/rialto-im/rialto/internal/platform/clickmodel"
)

// report is a page about a model.
type report struct {
	// Name of the model's file, and Data that it is judged by.
	Name, Data string
	Model      *clickmodel.Model
	Evaluation clickmodel.Evaluation
}

// Sizes of plots, in pixels.
const (
	plotSize = 260.0
	barWidth = 420.0
)

// curve is a line of a plot.
type curve struct {
	Name, Class, Points string
}

// bar is a value of an order.
type bar struct {
	Name, Class string
	Value       float64
	Width, Y    float64
}

// weight is a weight of a model.
type weight struct {
	Name              string
	Click, Conversion float64
	// X and Width of its bar, by the weight for clicks.
	X, Width, Y float64
	Positive    bool
}

// orders are the three rankings that are compared.
func (r *report) orders() []struct {
	name, class string
	quality     *clickmodel.Quality
} {
	e := &r.Evaluation
	return []struct {
		name, class string
		quality     *clickmodel.Quality
	}{{"this model", "a", &e.Model}, {"popularity", "b", &e.Popularity}, {"recency", "c", &e.Recency}}
}

// place returns the place of a point in a plot, whose y axis points up.
func place(x, y float64) string {
	return fmt.Sprintf("%.1f,%.1f", plotSize*x, plotSize*(1-y))
}

// ROC has the curves of the three orders.
func (r *report) ROC() (list []curve) {
	for _, o := range r.orders() {
		var points []string
		for _, p := range o.quality.ROC {
			points = append(points, place(p.X, p.Y))
		}
		list = append(list, curve{o.name, o.class, strings.Join(points, " ")})
	}
	return list
}

// NDCG has a bar for each order.
func (r *report) NDCG() []bar {
	return r.bars(func(q *clickmodel.Quality) float64 { return q.NDCG })
}

// Coverage has a bar for each order.
func (r *report) Coverage() []bar {
	return r.bars(func(q *clickmodel.Quality) float64 { return q.Coverage })
}

func (r *report) bars(of func(*clickmodel.Quality) float64) (list []bar) {
	for i, o := range r.orders() {
		v := of(o.quality)
		list = append(list, bar{o.name, o.class, v, barWidth * v, float64(26 * i)})
	}
	return list
}

// Table has a row for each order.
func (r *report) Table() (rows [][4]string) {
	for _, o := range r.orders() {
		rows = append(rows, [4]string{o.name, fmt.Sprintf("%.3f", o.quality.AUC), fmt.Sprintf("%.3f", o.quality.NDCG), fmt.Sprintf("%.1f %%", 100*o.quality.Coverage)})
	}
	return rows
}

// calibrationPlot is a plot of estimates and what was observed.
type calibrationPlot struct {
	Name, Line string
	Dots       []dot
	// Top is the probability at the end of both axes.
	Top   float64
	Error float64
}

type dot struct {
	X, Y  float64
	Label string
}

// Calibrations has a plot for clicks, and one for conversions if there are estimates of them.
func (r *report) Calibrations() []calibrationPlot {
	list := []calibrationPlot{plotOf("clicks", r.Evaluation.Calibration, r.Evaluation.CalibrationError)}
	if c := r.Evaluation.Conversions; c != nil {
		list = append(list, plotOf("conversions", c.Calibration, c.CalibrationError))
	}
	return list
}

func plotOf(name string, points []clickmodel.CalibrationPoint, mean float64) calibrationPlot {
	c := calibrationPlot{Name: name, Error: mean, Top: 0.01}
	for _, p := range points {
		c.Top = max(c.Top, p.Estimated, p.Observed)
	}
	c.Top = math.Min(1, math.Ceil(c.Top*20)/20)
	var line []string
	for _, p := range points {
		line = append(line, place(p.Estimated/c.Top, p.Observed/c.Top))
		c.Dots = append(c.Dots, dot{plotSize * p.Estimated / c.Top, plotSize * (1 - p.Observed/c.Top), fmt.Sprintf("estimated %.3f, observed %.3f, %d examples", p.Estimated, p.Observed, p.Examples)})
	}
	c.Line = strings.Join(line, " ")
	return c
}

// Weights has the weights of the model.
func (r *report) Weights() (list []weight) {
	widest := 0.01
	for i := range r.Model.Features {
		widest = max(widest, math.Abs(r.Model.Click.Term(i, 1)))
	}
	for i, name := range r.Model.Features {
		w := weight{Name: name, Click: r.Model.Click.Term(i, 1), Y: float64(24 * i)}
		if r.Model.Conversion != nil {
			w.Conversion = r.Model.Conversion.Term(i, 1)
		}
		w.Positive = w.Click >= 0
		w.Width = barWidth / 2 * math.Abs(w.Click) / widest
		if w.X = barWidth / 2; !w.Positive {
			w.X -= w.Width
		}
		list = append(list, w)
	}
	return list
}

// Height of the plot of weights.
func (r *report) Height() int { return 24 * len(r.Model.Features) }

// Ratio is how many times as good the model's order is as that by popularity.
func (r *report) Ratio() float64 {
	if r.Evaluation.Popularity.NDCG == 0 {
		return 0
	}
	return r.Evaluation.Model.NDCG / r.Evaluation.Popularity.NDCG
}
