-- One request with its own id each time. Arguments after "--": the body's head and tail, then header names and values.
local head, tail = "", ""
local number = 0

function init(args)
  head, tail = args[1], args[2]
  for i = 3, #args, 2 do
    wrk.headers[args[i]] = args[i + 1]
  end
end

function request()
  number = number + 1
  return wrk.format("POST", nil, nil, head .. number .. tail)
end

function done(summary, latency, requests)
  io.write(string.format("RESULT %d %d %d %d %d %d %d\n", summary.requests, summary.duration,
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    summary.bytes, latency:percentile(50), latency:percentile(99)))
end
