// Package friend imports what the table lets it import from its own layer.
package friend

import "example.org/bad/low/beside"

// RentOfHouse has a word that is not a term of the field; so has this comment of a house.
const RentOfHouse = beside.N
