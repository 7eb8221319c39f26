// Package throttle limits the requests to each host: how many run at the same time, how many start per second, and
// when requests resume after a server was busy. It is experimental.
//
// All clients with these settings share the limits:
//
//	limits := &throttle.Transport{PerSecond: 20, Parallel: 8}
//	web := &transport.Settings{HTTP: &http.Client{Transport: limits}}
//	registry := &regclient.Client{Transport: web}
//
// Servers that run many clients need it. In a program with one client, the field Parallel of the functions
// that fetch many packages is usually enough.
//
// Every request counts: redirects, retries and resumed downloads. Requests that
// [github.com/tofureg/tofureg/transport/doccache.Transport] answers do not count if this
// [Transport] is its Base.
package throttle
