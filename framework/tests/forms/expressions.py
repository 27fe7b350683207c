"""Expressions of Spark SQL that a user would write over the row of a topic, by what they are about."""

EXPRESSIONS = {
    "numbers": """
        x + 1
        x - 1 * 2
        (x + 1) / 2
        x div 2
        x % 3
        mod(x, 3)
        pmod(-x, 3)
        -x
        + x
        - -x
        abs(-x)
        round(d, 1)
        bround(d, 1)
        ceil(d)
        floor(d)
        power(d, 2)
        sqrt(abs(d))
        log(10, 100)
        greatest(x, 2, 3)
        least(x, 2)
        try_divide(x, 0)
        try_add(x, 1)
        x::bigint
        cast(x as decimal(10, 2)) * 1.5
        dec + 1
        dec * dec
        dec / 3
        1L + 2S + 3Y
        1.5BD
        1.5D
        1.5F
        1e3
        .5
        5.
        1.5e-3
        3000000000
        123456789012345678901234567890
        width_bucket(d, 0, 10, 5)
        format_number(d, 2)
        conv('ff', 16, 10)
        hex(x)
        bin(x)
        factorial(3)
        sign(x)
        rand(42) >= 0
        nanvl(d, 0)
    """,
    "bits": """
        x & 1
        x | 4
        x ^ 1
        ~x
        shiftleft(x, 1)
        x << 1
        shiftright(x, 1)
        shiftrightunsigned(x, 1)
        bit_count(x)
        getbit(x, 0)
    """,
    "texts": r"""
        k || 'a'
        k || '-' || x
        concat(k, 'a', x)
        concat_ws('-', k, 'b', null)
        upper(k)
        initcap(k)
        trim(k)
        trim(both ' ' from k)
        trim(leading 'k' from k)
        ltrim('k', k)
        substring(k, 1, 2)
        substring(k from 1 for 1)
        substr(k, 2)
        left(k, 1)
        right(k, 1)
        length(k)
        char_length(k)
        replace(k, 'k', 'q')
        translate(k, 'k', 'q')
        overlay(k placing '_' from 1)
        position('k' in k)
        locate('k', k)
        instr(k, 'k')
        split(k, '-')[0]
        split_part(k, '-', 1)
        lpad(k, 5, '0')
        repeat(k, 2)
        reverse(k)
        format_string('%s-%d', k, x)
        printf('%s', k)
        k like 'k%'
        k like 'k!%' escape '!'
        k not like '%1'
        k ilike 'K%'
        k like any ('k1', 'k2')
        k like all ('k%', '%1')
        k rlike 'k[0-9]'
        k regexp 'k.'
        regexp_like(k, r'k\d')
        regexp_extract(k, r'(\d+)', 1)
        regexp_extract_all(k, '([0-9])', 1)
        regexp_replace(k, '[0-9]', 'n')
        regexp_count(k, 'k')
        startswith(k, 'k')
        contains(k, '1')
        levenshtein(k, 'k9')
        soundex(k)
        ascii(k)
        chr(65)
        base64(encode(k, 'utf-8'))
        decode(bin, 'utf-8')
        decode(x, 1, 'one', 2, 'two', 'other')
        to_char(dec, '999.99')
        url_encode(k)
        parse_url('http://a/b?c=d', 'HOST')
        mask(k)
        quote(k)
        k collate UTF8_LCASE = 'K1'
        'it''s'
        'a' 'b'
        "double"
        r'raw\n'
        'tab\tnew\nline\\'
        '\u00e9'
        'ünïcode → 日本'
    """,
    "hashes": """
        md5(k)
        sha2(k, 256)
        sha1(k)
        crc32(k)
        hash(k, x)
        xxhash64(k)
        pmod(xxhash64(k), 10)
        uuid() is not null
        to_json(named_struct('h', hash(k)))
    """,
    "conditions": """
        x = 1
        x == 1
        x <> 1
        x != 1
        x <=> null
        not ok
        !ok
        ok and x > 1 or k is null
        k is null
        k is not null
        ok is true
        ok is not false
        ok is unknown
        x is distinct from 1
        x is not distinct from null
        x between 0 and 5
        x not between 0 and 5
        x in (1, 2, 3)
        k not in ('k1', 'k2')
        (x, k) in ((1, 'k1'), (2, 'k2'))
        (x, k) = (1, 'k1')
        case when x > 1 then 'a' when x = 1 then 'b' else 'c' end
        case x when 1 then 'one' end
        case k when 'k1' then case when ok then 1 else 2 end else 3 end
        if(ok, 1, 2)
        ifnull(k, 'none')
        nvl(k, 'none')
        nvl2(k, 1, 2)
        nullif(k, 'k1')
        coalesce(null, k, 'z')
        assert_true(x >= 0) is null
        isnull(k)
        isnan(d)
        equal_null(k, null)
    """,
    "casts": """
        cast(x as string)
        x::string::int
        cast(k as int) is null or true
        try_cast(k as int)
        cast('2026-01-01' as date)
        cast(ts as date)
        cast(ts as bigint)
        cast(x as boolean)
        cast(k as binary)
        cast(d as decimal(10, 3))
        cast(tags as array<string>)
        cast(s as struct<a: bigint, b: string, c: struct<d: string>>)
        cast(m as map<string, bigint>)
        int(d)
        string(x)
        double(x)
        boolean(1)
        date('2026-01-01')
        timestamp('2026-01-01')
        typeof(x)
        try_to_number('12', '99')
    """,
    "times": """
        date'2026-01-01'
        timestamp'2026-01-01 00:00:00'
        timestamp_ntz'2026-01-01 00:00:00'
        timestamp_ltz'2026-01-01 00:00:00'
        ts + interval 1 hour
        ts - interval '1' day
        ts + interval '1 2:03:04' day to second
        ts + interval '1-2' year to month
        ts + interval 1 day 2 hours
        ts + make_dt_interval(1)
        day + 1
        cast(day - day as string)
        ts - ts > interval 0 seconds
        ts > timestamp'2020-01-01'
        date_add(day, 1)
        dateadd(day, 1, ts)
        dateadd(HOUR, x, ts)
        timestampadd(MINUTE, 5, ts)
        datediff(day, date'2026-01-01')
        datediff(HOUR, ts, ts)
        timestampdiff(SECOND, ts, ts)
        date_trunc('hour', ts)
        trunc(day, 'MM')
        date_format(ts, 'yyyy-MM-dd')
        to_date(k, 'yyyy') is null or true
        try_to_timestamp(k)
        to_timestamp('2026-01-01')
        extract(hour from ts)
        extract(dow from day)
        date_part('year', ts)
        year(ts)
        dayofweek(day)
        weekofyear(day)
        last_day(day)
        next_day(day, 'MON')
        add_months(day, 1)
        months_between(ts, ts)
        unix_timestamp(ts)
        unix_millis(ts)
        timestamp_millis(id)
        timestamp_seconds(id)
        from_unixtime(id)
        from_utc_timestamp(ts, 'Europe/Berlin')
        convert_timezone('UTC', 'Europe/Berlin', ntz)
        make_date(2026, 1, x + 1)
        make_timestamp(2026, 1, 1, 0, 0, 0)
        current_date() is not null
        current_timestamp() > ts
        current_timestamp > ts
        now() > ts
        localtimestamp() is not null
        current_timezone()
        ntz
        window(ts, '5 minutes').start
        window(ts, '10 minutes', '5 minutes').end
    """,
    "arrays": """
        tags[0]
        nums[1] + 1
        get(tags, 9)
        element_at(tags, 1)
        element_at(tags, -1)
        try_element_at(tags, 9)
        size(tags)
        cardinality(tags)
        array(1, 2, x)
        array()
        array_contains(tags, 'a')
        array_position(tags, 'a')
        array_distinct(tags)
        array_union(tags, array('z'))
        array_except(tags, array('a'))
        array_intersect(tags, array('a'))
        array_join(tags, ',')
        array_sort(nums)
        array_sort(nums, (a, b) -> b - a)
        sort_array(nums, false)
        slice(nums, 1, 1)
        concat(tags, array('z'))
        tags || array('z')
        flatten(array(tags, tags))
        array_max(nums)
        array_repeat(k, 2)
        array_append(tags, 'z')
        array_prepend(tags, 'z')
        array_compact(array(1, null))
        array_insert(nums, 1, 9)
        array_remove(tags, 'a')
        arrays_overlap(tags, array('a'))
        arrays_zip(tags, nums)
        sequence(1, 3)
        sequence(day, day + interval 1 day, interval 1 day)
        shuffle(tags) is not null
        transform(tags, t -> upper(t))
        transform(nums, (n, i) -> n + i)
        transform(tags, k -> k || x)
        filter(nums, n -> n > 1)
        filter(nums, (n, i) -> i = 0)
        exists(nums, n -> n > 1)
        forall(nums, n -> n > 0)
        aggregate(nums, 0, (a, n) -> a + n)
        aggregate(nums, 0, (a, n) -> a + n, a -> a * 10)
        reduce(nums, 0, (a, n) -> a + n)
        zip_with(nums, nums, (a, b) -> a * b)
        transform(items, i -> i.sku)
        transform(items, i -> struct(i.sku as name, i.n * x as total))
        filter(items, i -> i.n > 1 and i.sku <> k)
        transform(filter(nums, n -> n > 1), n -> n * 2)
        transform(tags, a -> transform(nums, b -> a || b || k))
        items.sku
        items[0].sku
    """,
    "maps": """
        m['a']
        m.a
        element_at(m, 'a')
        try_element_at(m, 'z')
        map('p', 1, 'q', x)
        map_keys(m)
        map_values(m)
        map_entries(m)
        map_concat(m, map('z', 1))
        map_contains_key(m, 'a')
        map_from_arrays(array('p'), array(1))
        map_from_entries(array(struct('p', 1)))
        str_to_map('a:1,b:2', ',', ':')
        map_filter(m, (k, v) -> v > 0)
        transform_keys(m, (k, v) -> upper(k))
        transform_values(m, (k, v) -> v + x)
        map_zip_with(m, m, (k, a, b) -> a + b)
        size(m)
    """,
    "structs": """
        s.a
        s.c.d
        s
        struct(x, k)
        struct(x as a, k as b)
        struct(s.a, s.c.d)
        named_struct('a', x, 'b', k)
        named_struct('s', struct(1)).s
        struct(*)
        s.a + s.c.d
        to_json(s)
        to_json(struct(*))
    """,
    "documents": """
        get_json_object(js, '$.a')
        from_json(js, 'a int, b array<int>').a
        from_json(js, 'struct<a: int>')
        from_json(js, 'map<string, string>') is not null
        json_array_length('[1, 2]')
        json_object_keys(js)
        schema_of_json('{"a": 1}')
        parse_json(js):a::int
        parse_json(js):b[0]::int
        variant_get(parse_json(js), '$.a', 'int')
        try_variant_get(parse_json(js), '$.a', 'int')
        try_parse_json(k) is null or true
        is_variant_null(parse_json('null'))
        to_json(parse_json(js))
        schema_of_variant(parse_json(js))
        from_csv('1,a', 'a int, b string').b
        to_csv(struct(x, k))
        xpath_string('<a><b>1</b></a>', 'a/b')
        from_xml('<r><a>1</a></r>', 'a int').a
    """,
    "bytes": """
        X'1F'
        x''
        bin
        hex(bin)
        unhex('1F')
        base64(bin)
        length(bin)
        bin || X'00'
        to_binary('abc', 'utf-8')
        crc32(bin)
    """,
    "more": """
        x /* comment */ + /* another */ 1
        `x`
        e.x
        raise_error('never') is null or true
        (select max(category) from {seed})
        (select max(category) from {seed} as p where p.product_id = 'p1')
        k in (select product_id from {seed})
        k not in (select category from {seed} where category is not null)
        exists (select 1 from {seed} where category = 'books')
        case when k in (select product_id from {seed}) then 'known' else 'new' end
        score(k, d)
        score(k, d) + score(upper(k), x)
        transform(array(score(k, d)), v -> v + 1)
        input_file_name() is null or true
        stack(1, 2)
        version() is not null
        current_user() is not null
        bitmap_bit_position(x)
        is_valid_utf8(k)
        hll_sketch_estimate(null)
        sentences('Hi there.')
        luhn_check('79927398713')
        zeroifnull(x)
        nullifzero(x)
        randstr(3, 1)
        uniform(1, 1, 0)
        spark_partition_id() >= 0
        cast(interval 1 day as string)
        cast(interval '1-2' year to month as string)
    """,
}
