//go:build !race

package sqltest

// WithRaceDetector reports whether the tests run with Go's race detector.
const WithRaceDetector = false
