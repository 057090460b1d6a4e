/** Later than any end, in seconds: where one seeks to find the end of a recording that does not say how long it is. */
export const afterEnd = 1e7;
