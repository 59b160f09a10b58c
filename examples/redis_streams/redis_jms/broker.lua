-- The broker's side: one script, so that every verb is one step. ARGV: prefix, link, verb, its arguments as MessagePack.
--
-- A store (a queue, or the subscription of a topic) is a stream with the consumer group "g". What is delivered is
-- pending at the consumer "link/number"; what came back is pending at the consumer "-", and goes out before new entries.
local prefix, link, verb = ARGV[1], ARGV[2], ARGV[3]
local call = redis.call
local verbs, parts = {}, {}

local function key(kind, name) return prefix .. ':' .. kind .. ':' .. (name or '') end
local function no(kind, text) return redis.error_reply(kind .. ' ' .. text) end
local function consumer_of(owner, number) return owner .. '/' .. number end
local function wake(store) call('PUBLISH', prefix .. ':wake', store) end

local function pairs_of(name)
  local flat, found = call('HGETALL', name), {}
  for at = 1, #flat, 2 do found[flat[at]] = flat[at + 1] end
  return found
end

local function exists(store) return call('EXISTS', key('stream', store)) == 1 end
local function ensure(store)
  if not exists(store) then call('XGROUP', 'CREATE', key('stream', store), 'g', '0', 'MKSTREAM') end
end
local function consumers(store) return call('SCARD', key('consumers', store)) end

local function pending(store, consumer, most, first, last)
  if not exists(store) then return {} end
  return call('XPENDING', key('stream', store), 'g', first or '-', last or '+', most, consumer)
end

-- The next delivery of each counts "deliveries" more than the one that ends now.
local function put_back(store, found, deliveries, failures)
  for _, entry in ipairs(found) do
    local id, count = entry[1], entry[4]
    call('XCLAIM', key('stream', store), 'g', '-', 0, id, 'RETRYCOUNT', count - 1 + deliveries, 'JUSTID')
    if failures > 0 then call('HINCRBY', key('failures', store), id, failures) end
  end
  if #found > 0 then wake(store) end
end

local function drop(store)
  local topic = call('HGET', key('subscription', store), 'topic')
  if topic then call('HDEL', key('topic', topic), store) end
  for _, kind in ipairs({'stream', 'failures', 'subscription', 'consumers'}) do call('DEL', key(kind, store)) end
  wake(store)
end

local function drop_if_over(store)
  if call('HGET', key('subscription', store), 'durable') == '0' and consumers(store) == 0 then drop(store) end
end

local function detach(owner, number, store)
  local consumer = consumer_of(owner, number)
  if call('HDEL', key('attached', owner), number) == 0 then return end
  put_back(store, pending(store, consumer, 1e9), 1, 0)
  if exists(store) then call('XGROUP', 'DELCONSUMER', key('stream', store), 'g', consumer) end
  call('SREM', key('consumers', store), consumer)
  drop_if_over(store)
end

local function delete(owner, place)
  drop(place)
  for store in pairs(pairs_of(key('topic', place))) do drop(store) end
  call('HDEL', key('owners'), place)
  call('SREM', key('temporary', owner), place)
end

-- All that a link had; the entry by which it is found goes last.
local function finish(owner)
  for number, store in pairs(pairs_of(key('attached', owner))) do detach(owner, number, store) end
  for _, place in ipairs(call('SMEMBERS', key('temporary', owner))) do delete(owner, place) end
  local client = call('HGET', key('links'), owner)
  if client and call('GET', key('client', client)) == owner then call('DEL', key('client', client)) end
  call('DEL', key('lease', owner))
  call('HDEL', key('links'), owner)
end

local function finish_dead()
  for owner in pairs(pairs_of(key('links'))) do
    if call('EXISTS', key('lease', owner)) == 0 then finish(owner) end
  end
end

function verbs.hello(args)
  finish_dead()
  if args.client ~= '' and not call('SET', key('client', args.client), link, 'NX') then
    return no('CLIENT', 'the client id "' .. args.client .. '" is in use')
  end
  call('HSET', key('links'), link, args.client)
  call('SET', key('lease', link), '', 'PX', args.lease)
end

function verbs.renew(args)
  call('PEXPIRE', key('lease', link), args.lease)
  finish_dead()
end

function verbs.bye() finish(link) end

-- Sends and settlements, together or not at all.
function verbs.apply(steps)
  for _, step in ipairs(steps) do
    if step.temporary and call('HEXISTS', key('owners'), step.place) == 0 then
      return no('ADDRESS', step.place .. ' was deleted')
    end
  end
  for _, step in ipairs(steps) do parts[step.part](step) end
end

function parts.send(step)
  local again = step.duplicate and key('duplicate', step.place .. ':' .. step.duplicate)
  if again and not call('SET', again, '', 'NX', 'PX', step.window) then return end
  local stores = {[step.place] = ''}
  if step.topic then stores = pairs_of(key('topic', step.place)) end
  for store, excluded in pairs(stores) do
    if excluded == '' or excluded ~= step.origin then
      ensure(store)
      call('XADD', key('stream', store), '*', 'message', step.message)
      wake(store)
    end
  end
end

function parts.accept(step)
  for _, id in ipairs(step.ids) do
    if call('XACK', key('stream', step.store), 'g', id) == 1 then
      call('XDEL', key('stream', step.store), id)
      call('HDEL', key('failures', step.store), id)
    end
  end
end

function parts.put_back(step)
  local consumer, found = consumer_of(link, step.number), {}
  for _, id in ipairs(step.ids) do found[#found + 1] = pending(step.store, consumer, 1, id, id)[1] end
  put_back(step.store, found, step.deliveries, step.failures)
end

function verbs.subscribe(args)
  finish_dead()
  local store, subscription = args.store, key('subscription', args.store)
  if args.temporary and call('HGET', key('owners'), args.place) ~= link then
    return no('INUSE', args.place .. ' is of another connection, or was deleted')
  end
  if args.browses then return end
  if args.topic then
    local old = pairs_of(subscription)
    if old.definition then
      local busy = consumers(store) > 0
      if old.shared ~= args.shared then return no('REFUSED', 'the subscription is shared, or is not, as it was made') end
      if busy and args.shared == '0' then return no('REFUSED', 'the subscription has a consumer') end
      if busy and old.definition ~= args.definition then return no('REFUSED', 'its consumers defined it otherwise') end
      if old.definition ~= args.definition then drop(store) end
    end
    call('HSET', subscription, 'topic', args.place, 'definition', args.definition, 'shared', args.shared,
      'durable', args.durable)
    call('HSET', key('topic', args.place), store, args.excluded)
  end
  ensure(store)
  call('SADD', key('consumers', store), consumer_of(link, args.number))
  call('HSET', key('attached', link), args.number, store)
end

function verbs.retire(args)
  call('SREM', key('consumers', args.store), consumer_of(link, args.number))
  drop_if_over(args.store)
end

function verbs.detach(args) detach(link, args.number, args.store) end

function verbs.unsubscribe(args)
  finish_dead()
  if call('EXISTS', key('subscription', args.store)) == 0 then return no('UNKNOWN', 'there is no such subscription') end
  for _, holder in ipairs(call('XPENDING', key('stream', args.store), 'g')[4] or {}) do
    if holder[1] ~= '-' then return no('REFUSED', 'a message of the subscription is unsettled') end
  end
  if consumers(args.store) > 0 then return no('REFUSED', 'the subscription has a consumer') end
  drop(args.store)
end

function verbs.fetch(args)
  local store, stream = args.store, key('stream', args.store)
  if not exists(store) then return no('ADDRESS', store .. ' was deleted') end
  local consumer, found = consumer_of(link, args.number), {}
  local function add(entries, count)
    for _, entry in ipairs(entries) do
      local id, fields = entry[1], entry[2]
      found[#found + 1] = {id, count, call('HGET', key('failures', store), id) or 0, fields[2]}
    end
  end
  for _, entry in ipairs(pending(store, '-', args.most)) do
    add(call('XCLAIM', stream, 'g', consumer, 0, entry[1]), entry[4] + 1)
  end
  if #found < args.most then
    local read = call('XREADGROUP', 'GROUP', 'g', consumer, 'COUNT', args.most - #found, 'STREAMS', stream, '>')
    if read then add(read[1][2], 1) end
  end
  return found
end

function verbs.browse(args)
  local found = {}
  for _, entry in ipairs(call('XRANGE', key('stream', args.store), args.after, '+', 'COUNT', args.most)) do
    found[#found + 1] = {entry[1], 1, 0, entry[2][2]}
  end
  return found
end

function verbs.declare(args)
  local place = args.place
  if call('HSETNX', key('owners'), place, link) == 0 then
    place = place .. '-' .. link
    call('HSET', key('owners'), place, link)
  end
  call('SADD', key('temporary', link), place)
  if not args.topic then ensure(place) end
  return place
end

function verbs.delete(args)
  if call('HGET', key('owners'), args.place) ~= link then return no('INUSE', args.place .. ' is of another connection') end
  local busy = consumers(args.place)
  for store in pairs(pairs_of(key('topic', args.place))) do busy = busy + consumers(store) end
  if busy > 0 then return no('INUSE', args.place .. ' has consumers') end
  delete(link, args.place)
end

if verb ~= 'hello' and call('EXISTS', key('lease', link)) == 0 then
  return no('LEASE', 'the lease of the link has ended')
end
return verbs[verb](cmsgpack.unpack(ARGV[4])) or 'OK'
