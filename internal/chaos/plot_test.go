package chaos

import "testing"

// TestNamesOfStagesDoNotCoverOneAnother: those that are close to each other are in rows, and all are within the picture.
func TestNamesOfStagesDoNotCoverOneAnother(t *testing.T) {
	for _, c := range []struct {
		at   []float64
		rows []float64 // of each, from the plot upwards
	}{
		{[]float64{40, 100, 600, 800, 970}, []float64{0, 0, 0, 0, 0}},
		{[]float64{40, 100, 600, 930, 970}, []float64{0, 0, 0, 0, 1}},
		{[]float64{40, 60, 70, 90, 980}, []float64{0, 1, 2, 0, 0}},
	} {
		chart := &chart{}
		for i, name := range []string{Loaded, Faults, Healed, Ended, AtRest} {
			chart.Marks = append(chart.Marks, mark{tick: tick{c.at[i], name}})
		}
		chart.raise()
		for i, m := range chart.Marks {
			if m.Under != -row*c.rows[i] || m.Y-10 < chart.Top {
				t.Errorf("at %v, %q is at height %v of %v", c.at, m.Label, m.Y, chart.Top)
			}
		}
	}
}
