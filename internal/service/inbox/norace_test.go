//go:build !race

package inbox_test

const withRaceDetector = false
