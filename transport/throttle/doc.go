// Package throttle limits the requests to each host: how many run at the same time, how many start per second,
// and when requests resume after a server was busy. It is experimental.
//
//	limits := &throttle.Transport{PerSecond: 20, Parallel: 8}
//	web := &transport.Settings{HTTP: &http.Client{Transport: limits}}
//
// Clients with these settings share the limits. Redirects, retries and resumed downloads count, answers of
// [github.com/tofureg/tofureg/transport/doccache.Transport] do not if this Transport is its Base.
package throttle
