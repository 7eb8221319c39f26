package cliconfig

import (
	"encoding/json"
	"strconv"
)

// plainNumber returns a number in the form of JSON, which has neither hexadecimal nor
// octal ones.
func plainNumber(s string) any {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if _, err := json.Marshal(f); err == nil {
			return f
		}
	}
	return s
}
