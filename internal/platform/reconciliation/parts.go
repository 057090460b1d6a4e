package reconciliation

// Part is the part of a subject, such as a large file, that one step compared.
type Part struct {
	Items int
	// Next is the position after the part; "": nothing of the subject was compared.
	Next string
	// IsLast: the whole subject has been compared.
	IsLast bool
	Found  *Difference
}

// CompareParts is a step that compares subjects one after the other. The next step may continue the last one. subjects are the next ones in order; fewer than pageSize mean that the round ends with them.
// After an error, the step ends with what was compared before. If nothing was compared, it fails.
func CompareParts[T any](subjects []T, pageSize, limit int, compare func(subject T, limit int) (Part, error)) (step Step, err error) {
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
		if err != nil || !p.IsLast { // perhaps the step has used its time or its items: the next step begins here
			return step, nil
		}
	}
	if len(subjects) < pageSize {
		step.Next = ""
	}
	return step, nil
}
