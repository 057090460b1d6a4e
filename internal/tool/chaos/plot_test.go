package chaos

import "testing"

// Stage labels that are close to each other are in different rows, and all are inside the picture.
func TestStageLabelsDoNotOverlap(t *testing.T) {
	for _, c := range []struct {
		at   []float64
		rows []float64 // of each label, upwards from the plot
	}{
		{[]float64{40, 100, 600, 800, 970}, []float64{0, 0, 0, 0, 0}},
		{[]float64{40, 100, 600, 930, 970}, []float64{0, 0, 0, 0, 1}},
		{[]float64{40, 60, 70, 90, 980}, []float64{0, 1, 2, 0, 0}},
	} {
		chart := &chart{}
		for i, name := range []string{Loaded, Faults, Healed, Ended, Quiesced} {
			chart.Marks = append(chart.Marks, stageLabel{tick: tick{c.at[i], name}})
		}
		chart.layoutLabels()
		for i, m := range chart.Marks {
			if m.Under != -row*c.rows[i] || m.Y-10 < chart.Top {
				t.Errorf("labels at %v: got %q at height %v, picture top %v", c.at, m.Label, m.Y, chart.Top)
			}
		}
	}
}
