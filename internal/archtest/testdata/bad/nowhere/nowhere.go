// Package nowhere stands on no floor.
package nowhere
