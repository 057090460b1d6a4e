package beside

// N is a constant.
const N = 1
