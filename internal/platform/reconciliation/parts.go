package reconciliation

// Part is what a step compared of a subject, such as a large file, that may take several steps.
type Part struct {
	Items int
	// Next is the position behind it; "": nothing of the subject was compared.
	Next string
	// IsLast: all of the subject was compared.
	IsLast bool
	Found  *Difference
}

// CompareParts is a step that compares subjects one after the other, where the last one may be continued by the next step. They are the next ones in their order, most of them unless there are fewer.
// After an error, the step ends with what was compared before. If nothing was, it fails.
func CompareParts[T any](subjects []T, most, limit int, compare func(subject T, limit int) (Part, error)) (step Step, err error) {
	for _, subject := range subjects {
		if step.Items >= limit {
			return step, nil
		}
		p, err := compare(subject, limit-step.Items)
		if err != nil && p.Next == "" && step.Next == "" {
			return Step{}, err
		}
		if p.Next != "" {
			step.Items, step.Next = step.Items+p.Items, p.Next
		}
		if p.Found != nil {
			step.Differences = append(step.Differences, *p.Found)
		}
		if err != nil || !p.IsLast { // the time of the step is over, perhaps, or its items are used: the next one begins here
			return step, nil
		}
	}
	if len(subjects) < most {
		step.Next = ""
	}
	return step, nil
}
